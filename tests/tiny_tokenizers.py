"""Build a small tokenizer of each model family with transformers' classes, trained on a short text.

They differ in the most frequent sources of errors: the symbol for a space, whether the tokenizer or the chat
template adds a BOS token to every text, or neither.
"""

import copy
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoTokenizer,
    GemmaTokenizer,
    LlamaTokenizer,
    PreTrainedTokenizerFast,
    Qwen2Tokenizer,
)

TEXT = (
    "The fox sees the dog, and the dog sees the fox. What do you see? I see nothing at all, and you?"
    " One and two are three; Zoë says so too."
)
_EXAMS = "Question: What is it?\nAnswer: yes no True False Neither A B C D A: Q: #### The the"
_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_LLAMA_3 = [
    *("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"),
    *("<|start_header_id|>", "<|end_header_id|>"),
]
_LLAMA_2 = ["<unk>", "<s>", "</s>"]
_GEMMA = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"]
DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
# Qwen2.5's chat template without tools.
QWEN = (
    "{%- if messages[0]['role'] == 'system' %}"
    "{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}"
    "{%- else %}{{- '<|im_start|>system\\n" + DEFAULT_SYSTEM + "<|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role != 'system' or not loop.first %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
# Llama 3's chat template: BOS token, headers, two line ends, stripped content.
LLAMA = (
    "{% for message in messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'"
    " + message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
    "{% endif %}"
)
# Llama 2's chat template without the BOS token, which some templates leave to the tokenizer.
_INST = (
    "{%- for message in messages %}{%- if message.role == 'assistant' %}"
    "{{- ' ' + message.content + ' </s>' }}{%- else %}{{- '[INST] ' + message.content + ' [/INST]' }}"
    "{%- endif %}{%- endfor %}"
)
_TURNS = (
    "{{- bos_token }}{%- for message in messages %}"
    "{%- if message.role == 'system' %}{{- raise_exception('System role not supported') }}{%- endif %}"
    "{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\\n' }}"
    "{{- message.content | trim + '<end_of_turn>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<start_of_turn>model\\n' }}{%- endif %}"
)
# Whether the tokenizer adds a BOS token to every text, by family.
FAMILIES = {"qwen": False, "llama_3": True, "llama_2": True, "gemma": True}
WITH_START = [family for family, starts in FAMILIES.items() if starts]


@cache
def tokenizer_like(family: str) -> Any:
    """Build the tokenizer of a family, saved and loaded again."""
    with TemporaryDirectory() as folder:
        _MAKERS[family]().save_pretrained(folder)
        return AutoTokenizer.from_pretrained(Path(folder))


def with_template(template: str | None, family: str = "qwen") -> Any:
    """Copy a family's tokenizer, which a test may modify, with this chat template."""
    tokenizer = copy.deepcopy(tokenizer_like(family))
    tokenizer.chat_template = template
    return tokenizer


def smallest_tokenizer() -> PreTrainedTokenizerFast:
    """Build a tokenizer of two tokens, too small to use."""
    words = Tokenizer(models.WordLevel({"<unk>": 0, "fox": 1}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")


def _train_vocabulary(
    special: list[str], *, split: Any, **kind: Any
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    core = Tokenizer(models.BPE(**kind))
    core.pre_tokenizer = split
    trainer = trainers.BpeTrainer(
        vocab_size=len(special) + 400,
        special_tokens=special,
        initial_alphabet=[] if kind else pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator([TEXT, _EXAMS], trainer)
    model = json.loads(core.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def _make_qwen() -> Any:
    vocabulary, merges = _train_vocabulary(
        _QWEN, split=pre_tokenizers.ByteLevel(add_prefix_space=False)
    )
    tokenizer = Qwen2Tokenizer(
        vocab=vocabulary, merges=merges, eos_token="<|im_end|>", extra_special_tokens=_QWEN
    )
    tokenizer.chat_template = QWEN
    return tokenizer


def _make_llama_3() -> Any:
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary, merges = _train_vocabulary(_LLAMA_3, split=split)
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    core.pre_tokenizer, core.decoder = split, decoders.ByteLevel()
    start = _LLAMA_3[0]
    core.add_special_tokens(_LLAMA_3)
    core.post_processor = processors.TemplateProcessing(
        single=f"{start} $A",
        pair=f"{start} $A {start}:1 $B:1",
        special_tokens=[(start, core.token_to_id(start))],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token=start, eos_token="<|eot_id|>"
    )
    tokenizer.chat_template = LLAMA
    return tokenizer


def _make_sentence_piece_tokenizer(
    kind: type, special: list[str], prepend: str, template: str
) -> Any:
    """Build a tokenizer like SentencePiece's, with byte fallback."""
    split = pre_tokenizers.Metaspace(prepend_scheme=prepend)
    vocabulary, merges = _train_vocabulary(
        [*special, *_BYTES], split=split, byte_fallback=True, unk_token="<unk>"
    )
    more = {"extra_special_tokens": _GEMMA[-2:]} if kind is GemmaTokenizer else {}
    tokenizer = kind(vocab=vocabulary, merges=merges, add_bos_token=True, **more)
    tokenizer.chat_template = template
    return tokenizer


_MAKERS = {
    "qwen": _make_qwen,
    "llama_3": _make_llama_3,
    "llama_2": lambda: _make_sentence_piece_tokenizer(LlamaTokenizer, _LLAMA_2, "first", _INST),
    "gemma": lambda: _make_sentence_piece_tokenizer(GemmaTokenizer, _GEMMA, "never", _TURNS),
}
