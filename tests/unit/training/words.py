"""Byte-level tokenizers with the special tokens and chat templates of the families trained here."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEXT = (
    "The fox sees the dog, and the dog sees the fox. What do you see? I see nothing at all, and you?"
    " One and two are three; Zoë says so too."
)
_QWEN_DEFAULT = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
# What Qwen2.5's own template does where no tools are involved.
QWEN = (
    "{%- if messages[0]['role'] == 'system' %}"
    "{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}"
    "{%- else %}{{- '<|im_start|>system\\n" + _QWEN_DEFAULT + "<|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role != 'system' or not loop.first %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
# Llama 3's: the start of text, headers, two line ends, what was said without spaces around it.
LLAMA = (
    "{% for message in messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'"
    " + message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
    "{% endif %}"
)
# Like Qwen3's: only the last turn shows that there was nothing to think about.
THINKING = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.role == 'assistant' and loop.last %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{{- message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
# No token closes a turn, as in many templates written by hand.
PLAIN = (
    "{%- for message in messages %}{{- message.role + ': ' + message.content + '\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- 'assistant: ' }}{%- endif %}"
)
# Like Gemma's.
NO_SYSTEM = (
    "{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{%- endif %}" + PLAIN
)
_TOKENS = {
    "qwen": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    "llama": [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
    ],
}
DEFAULT_SYSTEM = _QWEN_DEFAULT


def tokenizer_of(family: str = "qwen", template: str | None = None) -> PreTrainedTokenizerFast:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        [TEXT],
        trainers.BpeTrainer(
            vocab_size=310,
            special_tokens=_TOKENS[family],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=None if family == "qwen" else "<|begin_of_text|>",
        # As published: of a Qwen chat model the end of a turn, of Llama 3 too.
        eos_token="<|im_end|>" if family == "qwen" else "<|eot_id|>",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = template or {"qwen": QWEN, "llama": LLAMA}[family]
    return tokenizer


def labelled(tokenizer, *pieces: tuple[str, bool]) -> list[tuple[int, bool]]:
    """Tokens with their marks, of pieces that a person has marked."""
    found = []
    for text, counts in pieces:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        found += [(token, counts) for token in ids]
    return found
