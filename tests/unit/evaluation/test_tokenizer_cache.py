"""Encoding in pieces: the tokens of the whole text, and whole texts where pieces would have others."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from workflow_scripts.evaluation import tokenizer_cache
from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache, encodes_words_alone

# What tokenizers treat in ways of their own, beside anything else that a text may hold.
_PARTS = st.one_of(
    st.sampled_from(
        ["the", "fox", " ", "  ", "\n", "\r\n", "\t", "1", "2024", "'s", "?", ".\n", ": ", "_", "A", "é",
         "e\u0301", "\u0301", "日本", "\u00a0", "\U0001f98a", "<|im_end|>", "<|begin_of_text|>", "<s>"]
    ),
    st.text(max_size=4),
)  # fmt: skip
_TEXTS = st.lists(st.lists(_PARTS, max_size=40).map("".join), max_size=4)


def with_parts(family: str, change) -> PreTrainedTokenizerFast:
    """The family's tokenizer with its settings changed."""
    parts = json.loads(tokenizer_like(family).backend_tokenizer.to_str())
    change(parts)
    core = Tokenizer.from_str(json.dumps(parts))
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=_special(parts))


def _special(parts) -> str:
    return parts["added_tokens"][0]["content"]


def _split(*steps):
    def change(parts):
        core = Tokenizer.from_str(json.dumps(parts))
        core.pre_tokenizer = pre_tokenizers.Sequence(list(steps))
        parts["pre_tokenizer"] = json.loads(core.to_str())["pre_tokenizer"]

    return change


_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
_THREE_DIGITS = PRETOKENIZE_REGEX.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
TOKENIZERS = {family: lambda family=family: tokenizer_like(family) for family in FAMILIES} | {
    # As Llama 3 and SmolLM split theirs.
    "three digits": lambda: with_parts(
        "llama_3", _split(pre_tokenizers.Split(Regex(_THREE_DIGITS), "isolated"), _BYTES)
    ),
    "single digits": lambda: with_parts(
        "llama_3",
        _split(
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ),
    ),
}
IN_PIECES = {"qwen", "llama_3", "three digits", "single digits"}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param]()


@pytest.mark.parametrize("name", TOKENIZERS)
def test_byte_level_tokenizers_are_given_pieces(name):
    assert encodes_words_alone(TOKENIZERS[name]()) == (name in IN_PIECES)


@settings(max_examples=150, deadline=None)
@given(texts=_TEXTS, special=st.sampled_from([None, True, False]), least=st.integers(1, 12))
def test_the_tokens_are_those_of_the_whole_text(tokenizer, texts, special, least):
    options = {} if special is None else {"add_special_tokens": special}
    expected = [tokenizer.encode(text, **options) for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        short = tokenizer_cache._PIECE.pattern.replace("48", str(least))
        patch.setattr(tokenizer_cache, "_PIECE", re.compile(short, re.DOTALL))
        patch.setattr(tokenizer_cache, "_MAX_CHARACTERS", 40)
        shared = TokenizerCache(tokenizer)
        assert shared.encode(texts, special) == expected
        assert shared.encode([text + " A" for text in texts[::-1]], special) == [
            tokenizer.encode(text + " A", **options) for text in texts[::-1]
        ]


def _prefix_space(parts):
    parts["pre_tokenizer"]["add_prefix_space"] = True


def _added(content: str, **how):
    def change(parts):
        parts["added_tokens"].append(
            parts["added_tokens"][-1]
            | {"id": len(parts["model"]["vocab"]), "content": content}
            | how
        )

    return change


def _looks_back(parts):
    _split(pre_tokenizers.Split(Regex(r"(?<!x) \w+|\w+|\W"), "isolated"), _BYTES)(parts)


@pytest.mark.parametrize(
    "change",
    [_prefix_space, _added("the fox"), _added("fox", rstrip=True), _looks_back],
    ids=[
        "a space put in front",
        "a token over two words",
        "a token with its spaces",
        "a look back",
    ],
)
def test_a_tokenizer_whose_pieces_have_other_tokens_is_given_whole_texts(change):
    tokenizer = with_parts("llama_3", change)
    assert not encodes_words_alone(tokenizer)
    texts = ["the fox\nsees the fox " * 20 + "and  the fox", "fox  "]
    assert TokenizerCache(tokenizer).encode(texts, None) == [
        tokenizer.encode(text) for text in texts
    ]
    pieces = TokenizerCache(tokenizer)
    pieces.splits = True
    assert pieces.encode(texts, None) != [tokenizer.encode(text) for text in texts]
