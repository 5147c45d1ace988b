"""Test that encoding in pieces gives the tokens of the whole text, for tokenizers that allow it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache, can_encode_pieces

# Texts with special treatment in tokenizers, and arbitrary text.
_PARTS = st.one_of(
    st.sampled_from(
        ["the", "fox", " ", "  ", "\n", "\r\n", "\t", "1", "2024", "'s", "?", ".\n", ": ", "_", "A", "é",
         "e\u0301", "\u0301", "日本", "\u00a0", "\U0001f98a", "<|im_end|>", "<|begin_of_text|>", "<s>"]
    ),
    st.text(max_size=4),
)  # fmt: skip
_TEXTS = st.lists(st.lists(_PARTS, max_size=40).map("".join), max_size=4)
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def make_tokenizer(*steps, token: dict | None = None) -> PreTrainedTokenizerFast:
    """Make Llama 3's tokenizer with other pre-tokenization steps, or with one more added token."""
    parts = json.loads(tokenizer_like("llama_3").backend_tokenizer.to_str())
    if token:
        last = parts["added_tokens"][-1] | {"id": len(parts["model"]["vocab"])}
        parts["added_tokens"].append(last | token)
    core = Tokenizer.from_str(json.dumps(parts))
    if steps:
        core.pre_tokenizer = pre_tokenizers.Sequence(list(steps))
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|eot_id|>")


def make_split_steps(regex: str):
    return pre_tokenizers.Split(Regex(regex), "isolated"), _BYTES


TOKENIZERS = {family: lambda family=family: tokenizer_like(family) for family in FAMILIES} | {
    # The pre-tokenization of Llama 3 and SmolLM.
    "three digits": lambda: make_tokenizer(
        *make_split_steps(PRETOKENIZE_REGEX.replace(r"|\p{N}|", r"|\p{N}{1,3}|"))
    ),
    "single digits": lambda: make_tokenizer(
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ),
    # Tokenizers for which pieces have other tokens than the whole text.
    "prefix space": lambda: make_tokenizer(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "token over two words": lambda: make_tokenizer(token={"content": "the fox"}),
    "look back": lambda: make_tokenizer(*make_split_steps(r"(?<!x) \w+|\w+|\W")),
}
IN_PIECES = {"qwen", "llama_3", "three digits", "single digits"}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    tokenizer = TOKENIZERS[request.param]()
    assert can_encode_pieces(tokenizer) == (request.param in IN_PIECES)
    return tokenizer


@settings(max_examples=60, deadline=None)
@given(texts=_TEXTS, special=st.sampled_from([None, True, False]), shortest=st.integers(1, 12))
def test_pieces_equal_whole_text(tokenizer, texts, special, shortest):
    options = {} if special is None else {"add_special_tokens": special}
    cache = TokenizerCache(tokenizer, min_chars=shortest, max_pieces=3)
    for batch in (texts, [text + " A" for text in texts[::-1]]):
        expected = [tokenizer.encode(text, **options) for text in batch]
        assert cache.encode(batch, special) == expected
