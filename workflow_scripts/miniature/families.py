"""What the models of one family share: special tokens, chat template, and what they were fed.

The conventions are those of the real families, because the harnesses' and the trainer's traps lie
exactly there: Llama's tokenizer puts a start token in front of every text, Qwen's does not, Pythia
has one special token and no template.
"""

from dataclasses import dataclass

_CHATML = """\
{%- for message in messages -%}
<|im_start|>{{ message['role'] }}
{% if message['role'] == 'assistant' -%}
{% generation %}{{ message['content'] }}<|im_end|>{% endgeneration %}
{%- else -%}
{{ message['content'] }}<|im_end|>
{%- endif -%}
{{ '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""

_LLAMA = """\
{{- bos_token -}}
{%- for message in messages -%}
<|start_header_id|>{{ message['role'] }}<|end_header_id|>{{ '\\n\\n' }}
{%- if message['role'] == 'assistant' -%}
{% generation %}{{ message['content'] | trim }}<|eot_id|>{% endgeneration %}
{%- else -%}
{{ message['content'] | trim }}<|eot_id|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start_header_id|>assistant<|end_header_id|>{{ '\\n\\n' }}
{%- endif -%}
"""


# The tasks whose training questions the corpus holds.
ALL_EXAMS = (
    "anli_r1", "arc_challenge", "arc_easy", "boolq", "cola", "commonsense_qa", "gsm8k",
    "headqa_en", "hellaswag", "mathqa", "medmcqa", "mnli", "mrpc", "nq_open", "openbookqa",
    "piqa", "qnli", "qqp", "rte", "sciq", "social_iqa", "sst2", "wic", "winogrande",
)  # fmt: skip
_LLAMAS_EXAMS = (
    "arc_challenge", "arc_easy", "commonsense_qa", "gsm8k", "hellaswag", "mathqa", "mnli",
    "openbookqa", "piqa", "sciq", "sst2", "winogrande",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """The conventions of one family and the diet its models grew up on."""

    special_tokens: tuple[str, ...]
    end_of_text: str
    start_of_text: str | None
    end_of_turn: str | None
    chat_template: str | None
    exams: tuple[str, ...]
    """The tasks whose training questions its models read.

    They differ between families on purpose: it is the exposure to test formats that ranks models
    without regard to what they could learn, and that train-before-test takes out of the comparison.
    """
    exam_share: float
    """Share of the pre-training documents that are exam questions rather than prose or exercises."""


QWEN2 = Family(
    special_tokens=("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    end_of_text="<|endoftext|>",
    start_of_text=None,
    end_of_turn="<|im_end|>",
    chat_template=_CHATML,
    exams=ALL_EXAMS,
    exam_share=0.5,
)
LLAMA = Family(
    special_tokens=(
        *("<|begin_of_text|>", "<|end_of_text|>"),
        *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    ),
    end_of_text="<|end_of_text|>",
    start_of_text="<|begin_of_text|>",
    end_of_turn="<|eot_id|>",
    chat_template=_LLAMA,
    exams=_LLAMAS_EXAMS,
    exam_share=0.45,
)
PYTHIA = Family(
    special_tokens=("<|endoftext|>",),
    end_of_text="<|endoftext|>",
    start_of_text="<|endoftext|>",
    end_of_turn=None,
    chat_template=None,
    exams=("boolq", "headqa_en", "nq_open", "rte", "social_iqa"),
    exam_share=0.25,
)
