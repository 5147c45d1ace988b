"""Check what the package uses of tokenizers beyond its promises.

- the settings of a tokenizer (to_str), and that a byte-level one encodes words alone
  (evaluation/tokenizer_cache.py): what texts share is tokenised once
"""

import json

import pytest

from tests.tiny_tokenizers import tokenizer_like


@pytest.fixture(params=["qwen", "llama_3"])
def tokenizer(request):
    """Of families whose tokenizers work on bytes."""
    return tokenizer_like(request.param)


def test_to_str_has_the_settings_of_a_tokenizer_under_these_names(tokenizer):
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    assert {"model", "normalizer", "pre_tokenizer", "added_tokens"} <= set(parts)
    ways = {"dropout", "fuse_unk", "continuing_subword_prefix", "end_of_word_suffix"}
    assert parts["model"]["type"] == "BPE" and ways <= set(parts["model"])
    assert all({"content", "rstrip"} <= set(token) for token in parts["added_tokens"])
    steps = parts["pre_tokenizer"].get("pretokenizers", [parts["pre_tokenizer"]])
    (of_bytes,) = (step for step in steps if step["type"] == "ByteLevel")
    assert {"add_prefix_space", "use_regex"} <= set(of_bytes)


@pytest.mark.parametrize("gap", [" ", "\n", "  "])
def test_a_byte_level_tokenizer_encodes_words_alone(tokenizer, gap):
    """A text that is cut between a word and the space or line break behind it has the tokens of its parts."""
    first, second = "Which animal sleeps", f"{gap}in the 12 towers?"

    def tokens(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    assert tokens(first) + tokens(second) == tokens(first + second)
