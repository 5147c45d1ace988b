"""Running text in blocks, of which no token is lost, and prompts with their completions."""

from itertools import pairwise

import numpy as np
import pytest

from tests.tiny_tokenizers import TEXT, WITH_START, tokenizer_like
from workflow_scripts.training.samples import BadSamples
from workflow_scripts.training.tokenization import cut_sample, make_pair_sample, tokenise_text


def blocks(rows, length=16, each_row_ends=True, column=None, tokenizer=None):
    bad = BadSamples()
    samples = tokenise_text(
        tokenizer or tokenizer_like("qwen"),
        rows,
        bad,
        column=column,
        length=length,
        each_row_ends=each_row_ends,
    )
    return list(samples), dict(bad)


@pytest.mark.parametrize("each_row_ends", [True, False])
def test_blocks_hold_every_token_of_the_text(each_row_ends):
    tokenizer, end = tokenizer_like("qwen"), tokenizer_like("qwen").eos_token_id
    texts = [f"{TEXT[: 70 + at % 60]}\n" for at in range(200)]
    samples, bad = blocks([{"text": text} for text in texts], 16, each_row_ends)
    expected = tokenizer("".join(texts), add_special_tokens=False)["input_ids"]
    if each_row_ends:
        encoded = tokenizer(texts, add_special_tokens=False)["input_ids"]
        expected = [token for ids in encoded for token in [*ids, end]]
    assert np.concatenate([s.tokens for s in samples]).tolist() == expected
    assert {len(s.tokens) for s in samples[:-1]} == {16}
    assert all(s.counted.tolist() == [False] + [True] * (len(s.tokens) - 1) for s in samples)
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
        assert tokenizer.decode(said).lstrip() == "".join(texts)
    for sample in found:
        assert not any(a == b == start for a, b in pairwise(sample.tokens))


def test_bad_rows_are_counted():
    rows = [{"text": ""}, {"text": 3}, {"other": "x"}, {"text": " "}, {"text": TEXT}]
    samples, bad = blocks(rows)
    assert samples and bad == {"empty": 2, "not text": 2}


@pytest.mark.parametrize(
    ("prompt", "counted", "length", "marks", "kinds"),
    [
        ([5, 6, 7], "completion", 9, [False] * 3 + [True] * 2, []),
        ([5, 6, 7], "all", 9, [False] + [True] * 4, []),
        ([], "completion", 9, [False, True], []),  # nothing stands before the first
        ([5, 6, 7], "completion", 4, [False] * 3 + [True], ["too long, cut"]),
        ([5, 6, 7], "completion", 3, None, ["too long, cut", "nothing left that counts"]),
    ],
)
def test_of_a_pair_the_completion_counts_or_all_but_the_first(
    prompt, counted, length, marks, kinds
):
    bad = BadSamples()
    samples = list(cut_sample(make_pair_sample(prompt, [8, 9], counted), length, bad))
    assert list(bad) == kinds
    if marks:
        assert samples[0].tokens.tolist() == [*prompt, 8, 9][:length]
        assert samples[0].counted.tolist() == marks
    else:
        assert samples == []
