"""Test splitting text into blocks without losing tokens, and the loss mask of completions."""

from itertools import pairwise

import pytest

from tests.tiny_tokenizers import TEXT, WITH_START, tokenizer_like
from workflow_scripts.training.samples import BadSamples
from workflow_scripts.training.tokenization import cut_sample, make_sample, tokenise_text


def make_blocks(texts, document_per_row=True, family="qwen"):
    """Return blocks of 16 tokens and the bad rows."""
    bad, rows = BadSamples(), [{"text": text} for text in texts]
    options = {"column": None, "length": 16, "document_per_row": document_per_row}
    return list(tokenise_text(tokenizer_like(family), rows, bad, **options)), bad


@pytest.mark.parametrize("family", ["qwen", *WITH_START])
@pytest.mark.parametrize("document_per_row", [True, False])
def test_blocks_hold_every_token(family, document_per_row):
    """Each document and each block begins with BOS if the tokenizer has it."""
    tokenizer = tokenizer_like(family)
    texts = [f"{TEXT[: 70 + number % 60]}\n" for number in range(100)]
    blocks, bad = make_blocks(texts, document_per_row, family)
    start = tokenizer.bos_token_id if family in WITH_START else None
    assert not bad and {len(block.tokens) for block in blocks[:-1]} == {16}
    for block in blocks:
        assert block.loss_mask.tolist() == [False] + [True] * (len(block.tokens) - 1)
        assert start in (None, block.tokens[0])
        assert (start, start) not in pairwise(block.tokens.tolist())
    tokens = [token for block in blocks for token in block.tokens.tolist() if token != start]
    if document_per_row:
        encoded = tokenizer(texts)["input_ids"]
        end = tokenizer.eos_token_id
        assert tokens == [n for ids in encoded for n in [*ids, end] if n != start]
    else:
        assert tokenizer.decode(tokens).lstrip() == "".join(texts)


def test_bad_rows_are_counted():
    blocks, bad = make_blocks(["", 3, None, " ", TEXT])
    assert blocks and bad == {"empty": 2, "not text": 2}


@pytest.mark.parametrize(
    ("start", "length", "marks", "kinds"),
    [
        (3, 9, [False] * 3 + [True] * 2, []),
        (0, 9, [False] + [True] * 4, []),  # no token precedes the first
        (3, 4, [False] * 3 + [True], ["too long, cut"]),
        (3, 3, None, ["too long, cut", "nothing left that counts"]),
    ],
)
def test_tokens_in_loss(start, length, marks, kinds):
    bad, tokens = BadSamples(), [5, 6, 7, 8, 9]
    samples = cut_sample(make_sample(tokens, start), length, bad)
    pairs = [(sample.tokens.tolist(), sample.loss_mask.tolist()) for sample in samples]
    assert pairs == ([(tokens[:length], marks)] if marks else [])
    assert list(bad) == kinds
