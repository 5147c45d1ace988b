"""Running text in blocks, of which no token is lost, and prompts with their completions."""

from itertools import pairwise

import numpy as np
import pytest

from tests.tiny_tokenizers import TEXT, WITH_START, tokenizer_like, with_template
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.samples import BadSamples
from workflow_scripts.training.tokenise import cut_sample, join_pair, tokenise_text


def blocks(rows, length=16, each_row_ends=True, column=None, tokenizer=None):
    bad = BadSamples()
    samples = tokenise_text(
        tokenizer or tokenizer_like("qwen"),
        ((f"row {number}", row) for number, row in enumerate(rows)),
        bad,
        column=column,
        length=length,
        each_row_ends=each_row_ends,
    )
    return list(samples), bad.as_json()


@pytest.mark.parametrize("rows", [3, 650], ids=["few", "more than go together"])
@pytest.mark.parametrize("each_row_ends", [True, False])
def test_blocks_hold_every_token_of_the_text(each_row_ends, rows):
    tokenizer = tokenizer_like("qwen")
    texts = [f"{TEXT[: 70 + at % 60]}\n" for at in range(rows)]
    found, bad = blocks([{"text": text} for text in texts], 16, each_row_ends)
    expected = []
    for text in texts:
        expected += tokenizer(text, add_special_tokens=False)["input_ids"]
        expected += [tokenizer.eos_token_id] if each_row_ends else []
    assert np.concatenate([s.tokens for s in found]).tolist() == expected
    assert {len(s.tokens) for s in found[:-1]} == {16}
    assert all(s.counted.tolist() == [False] + [True] * (len(s.tokens) - 1) for s in found)
    assert bad == {}


@pytest.mark.parametrize("family", WITH_START)
@pytest.mark.parametrize("each_row_ends", [True, False])
def test_each_document_and_each_block_begins_with_the_start_token(family, each_row_ends):
    """As a test of the model does; but for these, no token of the text is lost or made up."""
    tokenizer = tokenizer_like(family)
    start, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    texts = [f"{TEXT[: 70 + at % 60]}\n" for at in range(30)]
    rows = [{"text": text} for text in texts]
    found, bad = blocks(rows, 16, each_row_ends, tokenizer=tokenizer)
    assert bad == {}
    assert all(sample.tokens[0] == start for sample in found)
    assert {len(sample.tokens) for sample in found[:-1]} == {16}
    written = np.concatenate([sample.tokens for sample in found]).tolist()
    said = [token for token in written if token != start]
    if each_row_ends:
        encoded = [tokenizer(text)["input_ids"] for text in texts]
        assert said == [token for ids in encoded for token in [*ids[1:], end]]
        behind_an_end = [b for a, b in pairwise(written) if a == end]
        assert set(behind_an_end) == {start}
    else:
        assert tokenizer.decode(said) == "".join(texts), "no space in front of a line"
    for sample in found:
        assert not any(a == b == start for a, b in pairwise(sample.tokens))


def test_a_single_token_left_over_is_named():
    seven = [{"text": letter} for letter in "jqxzJQX"]  # a token each
    found, bad = blocks(seven, 6, each_row_ends=False)
    assert [len(s.tokens) for s in found] == [6]
    assert bad == {"one token left over": {"samples": 1, "first": ["the end of the text"]}}


def test_bad_rows_are_counted_and_named():
    rows = [{"text": ""}, {"text": 3}, {"other": "x"}, None, {"text": " "}, {"text": TEXT}]
    found, bad = blocks(rows)
    assert found
    assert bad == {
        "empty": {"samples": 2, "first": ["row 0", "row 4"]},
        "not text": {"samples": 2, "first": ["row 1", "row 2"]},
        "not a row": {"samples": 1, "first": ["row 3"]},
    }


def test_between_the_lines_of_one_text_blank_ones_belong_to_it():
    rows = [{"text": "The fox\n"}, {"text": "\n"}, {"text": "and the dog"}]
    found, bad = blocks(rows, each_row_ends=False, length=4)
    text = tokenizer_like("qwen").decode(np.concatenate([s.tokens for s in found]))
    assert text == "The fox\n\nand the dog"
    assert bad == {}


def test_only_the_first_few_are_named():
    _, bad = blocks([{"text": ""}] * 1000)
    assert bad["empty"]["samples"] == 1000
    assert bad["empty"]["first"] == [f"row {at}" for at in range(5)]


def test_rows_cannot_end_where_the_tokenizer_knows_no_end():
    tokenizer = with_template(None)
    tokenizer.eos_token = None
    with pytest.raises(UserError, match="no end of text"):
        blocks([{"text": TEXT}], tokenizer=tokenizer)


def pair(prompt, completion, length=100, counted="completion"):
    bad = BadSamples()
    return list(
        cut_sample(join_pair(prompt, completion, counted), length, bad, "row 0")
    ), bad.as_json()


@pytest.mark.parametrize(
    ("prompt", "counted", "marks"),
    [
        ([5, 6, 7], "completion", [False] * 3 + [True] * 2),
        ([5, 6, 7], "all", [False] + [True] * 4),
        ([], "completion", [False, True]),  # nothing stands before the first
    ],
)
def test_of_a_pair_the_completion_counts_or_all_but_the_first_token(prompt, counted, marks):
    (sample,), bad = pair(prompt, [8, 9], counted=counted)
    assert sample.tokens.tolist() == [*prompt, 8, 9]
    assert sample.counted.tolist() == marks
    assert bad == {}


def test_bad_pairs_are_counted_and_named():
    samples, bad = pair([5, 6, 7], [8, 9], length=4)
    assert [sample.tokens.tolist() for sample in samples] == [[5, 6, 7, 8]]
    assert bad == {"too long, cut": {"samples": 1, "first": ["row 0"]}}
    samples, bad = pair([5, 6, 7], [8, 9], length=3)
    assert samples == []
    assert bad["nothing left that counts"] == {"samples": 1, "first": ["row 0"]}
