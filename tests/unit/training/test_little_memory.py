"""On a GPU that is pretended, with little memory free, or of another generation."""

import pytest

from tests.pretended_gpu import found_by

pytestmark = [pytest.mark.slow, pytest.mark.compiler]


@pytest.fixture(scope="module")
def found(pretended_gpu):
    return found_by("memory", environment=pretended_gpu)


def test_many_rows_of_a_large_vocabulary_are_scored_at_once_where_little_is_free(found):
    """Where taking log-probabilities of 1,024 rows would take more than all logits may."""
    scored = found["scored"]
    assert scored["calls"] <= scored["rows"] / 20
    assert scored["taken"] < 1 and scored["apart"] < 1e-4


@pytest.mark.parametrize("kind", ["full", "lora", "distilled"])
def test_a_step_takes_what_was_estimated_or_less(found, kind):
    step = found["steps"][kind]
    assert step["told"] / 2 < step["took"] < step["told"]


def test_rows_without_room_are_cut_apart_and_nothing_is_calculated_twice(found):
    cut = found["cut"]
    assert cut["ran"]["gradient_checkpointing"] is False and cut["micro_batch"] == 8
    assert cut["apart"] < 1e-5


def test_auto_is_bfloat16_on_every_generation_that_computes_in_it(found):
    """Of weights that are read, and of what a training calculates."""
    generations = found["generations"]
    assert generations.pop("7.0") == ["float32", "float32"]
    assert generations.keys() == {"8.0", "9.0", "12.0"}
    assert all(one == ["bfloat16", "bfloat16"] for one in generations.values())
