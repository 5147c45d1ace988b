"""Running text in blocks, of which no token is lost, and prompts with completions as lm-eval cuts them."""

import numpy as np
import pytest

from tests.unit.training.words import TEXT, tokenizer_of
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.samples import SampleWriter, read_samples
from workflow_scripts.training.tokenise import write_pairs, write_text_blocks


def read(folder, writer):
    writer.close()
    samples, summary = read_samples(folder / "samples.json")
    return [samples[at] for at in range(len(samples))], summary["bad"]


def blocks(folder, rows, length=16, each_row_ends=True, most=None, column=None, tokenizer=None):
    writer = SampleWriter(folder)
    write_text_blocks(
        writer,
        tokenizer or tokenizer_of(),
        ((f"row {at}", row) for at, row in enumerate(rows)),
        column=column,
        length=length,
        each_row_ends=each_row_ends,
        most=most,
    )
    return read(folder, writer)


@pytest.mark.parametrize("rows", [3, 700], ids=["few", "more than go together"])
@pytest.mark.parametrize("each_row_ends", [True, False])
def test_blocks_hold_every_token_of_the_text(tmp_path, each_row_ends, rows):
    tokenizer = tokenizer_of()
    texts = [f"{TEXT[: 70 + at % 60]}\n" for at in range(rows)]
    found, bad = blocks(tmp_path, [{"text": text} for text in texts], 16, each_row_ends)
    expected = []
    for text in texts:
        expected += tokenizer(text, add_special_tokens=False)["input_ids"]
        expected += [tokenizer.eos_token_id] if each_row_ends else []
    assert np.concatenate([s.tokens for s in found]).tolist() == expected
    assert {len(s.tokens) for s in found[:-1]} == {16}
    assert all(s.counted.tolist() == [False] + [True] * (len(s.tokens) - 1) for s in found)
    assert bad == {}


def test_a_single_token_left_over_is_named(tmp_path):
    seven = [{"text": letter} for letter in "jqxzJQX"]  # a token each
    found, bad = blocks(tmp_path, seven, 6, each_row_ends=False)
    assert [len(s.tokens) for s in found] == [6]
    assert bad == {"one token left over": {"samples": 1, "first": ["the end of the text"]}}


def test_bad_rows_are_counted_and_named(tmp_path):
    rows = [{"text": ""}, {"text": 3}, {"other": "x"}, None, {"text": " "}, {"text": TEXT}]
    found, bad = blocks(tmp_path, rows)
    assert found
    assert bad == {
        "empty": {"samples": 2, "first": ["row 0", "row 4"]},
        "not text": {"samples": 2, "first": ["row 1", "row 2"]},
        "not a row": {"samples": 1, "first": ["row 3"]},
    }


def test_between_the_lines_of_one_text_blank_ones_belong_to_it(tmp_path):
    rows = [{"text": "The fox\n"}, {"text": "\n"}, {"text": "and the dog"}]
    found, bad = blocks(tmp_path, rows, each_row_ends=False, length=4)
    text = tokenizer_of().decode(np.concatenate([s.tokens for s in found]))
    assert text == "The fox\n\nand the dog"
    assert bad == {}


def test_only_the_first_few_are_named(tmp_path):
    _, bad = blocks(tmp_path, [{"text": ""}] * 1000)
    assert bad["empty"]["samples"] == 1000
    assert bad["empty"]["first"] == [f"row {at}" for at in range(5)]


def test_no_more_blocks_than_asked_for(tmp_path):
    found, _ = blocks(tmp_path, [{"words": TEXT}] * 600, most=3, column="words")
    assert len(found) == 3


def test_rows_cannot_end_where_the_tokenizer_knows_no_end(tmp_path):
    tokenizer = tokenizer_of()
    tokenizer.eos_token = None
    with pytest.raises(UserError, match="no end of text"):
        blocks(tmp_path, [{"text": TEXT}], tokenizer=tokenizer)


def pairs(folder, *rows, length=100, **options):
    writer = SampleWriter(folder)
    numbered = ((f"row {at}", *row) for at, row in enumerate(rows))
    write_pairs(writer, tokenizer_of(), numbered, length=length, **options)
    return read(folder, writer)


def as_the_harness_cuts(tokenizer, prompt: str, completion: str) -> tuple[list[int], list[int]]:
    """lm-eval's own function, on a model that has nothing but a tokenizer."""
    from lm_eval.api.model import TemplateLM

    class Model(TemplateLM):
        backend = "causal"
        eot_token_id = tokenizer.eos_token_id
        loglikelihood_rolling = generate_until = _loglikelihood_tokens = None

        def tok_encode(self, string, add_special_tokens=None, **kwargs):
            return tokenizer(string, add_special_tokens=False)["input_ids"]

    Model.__abstractmethods__ = frozenset()
    return Model()._encode_pair(prompt, completion)


PAIRS = [
    ("What do you see?", " The fox."),
    ("What do you see? ", "The fox."),  # the space belongs to the completion, as in the harness
    ("One\n\n", "two"),
]


@pytest.mark.parametrize(("prompt", "completion"), PAIRS)
def test_pairs_are_cut_as_the_evaluator_cuts_them(tmp_path, prompt, completion):
    tokenizer = tokenizer_of()
    head, tail = as_the_harness_cuts(tokenizer, prompt, completion)
    (sample,), bad = pairs(tmp_path, (prompt, completion), counted="completion")
    end = tokenizer.eos_token_id
    assert sample.tokens.tolist() == [*head, *tail, end]
    assert sample.counted.tolist() == [False] * len(head) + [True] * (len(tail) + 1)
    assert bad == {}


def test_a_token_across_the_border_keeps_the_text_whole(tmp_path):
    """The harness would drop the letter; what is trained on is the text, counted from where it counts."""
    tokenizer = tokenizer_of()
    head, tail = as_the_harness_cuts(tokenizer, "The fo", "x sees")
    (sample,), _ = pairs(tmp_path, ("The fo", "x sees"), counted="completion", ends=False)
    assert tokenizer.decode(sample.tokens) == "The fox sees"
    assert sample.counted.tolist() == [False] * len(head) + [True] * len(tail)


@pytest.mark.parametrize("ends", [True, False])
def test_loss_on_all_leaves_out_the_first_token_alone(tmp_path, ends):
    (sample,), _ = pairs(tmp_path, ("The fox", " sees"), counted="all", ends=ends)
    assert sample.counted.tolist() == [False] + [True] * (len(sample.tokens) - 1)
    assert (sample.tokens[-1] == tokenizer_of().eos_token_id) == ends


def test_bad_pairs_are_counted_and_named(tmp_path):
    rows = [("The fox", " "), ("The fox sees the dog and the fox", " sees"), ("The", " fox")]
    found, bad = pairs(tmp_path, *rows, counted="completion", length=5)
    assert len(found) == 1
    assert bad == {
        "empty": {"samples": 1, "first": ["row 0"]},
        "too long, cut": {"samples": 1, "first": ["row 1"]},
        "nothing left that counts": {"samples": 1, "first": ["row 1"]},
    }


def test_an_unknown_way_to_count_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match=r"counted is 'some'; expected 'all' or 'completion'\."):
        pairs(tmp_path, ("a", "b"), counted="some")
