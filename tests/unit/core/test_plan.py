"""Chunk plans: the published examples, and what must hold for every plan of every model size."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import DEFAULT_MODE, ChunkPlan, Mode, chunk_plan

CHUNKED = [mode for mode in get_args(Mode) if mode != "prune"]
layers = st.integers(1, 48)


def fits(*arguments) -> bool:
    try:
        chunk_plan(*arguments)
    except UserError:
        return False
    return True


def used(plan: ChunkPlan) -> list[int]:
    return [*plan.start, *(layer for chunk in plan.chunks for layer in chunk), *plan.end]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # As published: even beside odd layers, and a quarter shared on each side.
        ((24, DEFAULT_MODE, 12, 2), ((), (tuple(range(0, 24, 2)), tuple(range(1, 24, 2))), ())),
        (
            (24, DEFAULT_MODE, 6, 2),
            (tuple(range(6)), (tuple(range(6, 18, 2)), tuple(range(7, 18, 2))), tuple(range(18, 24))),
        ),
        # Without a number of chunks there are two where a start and an end are shared.
        ((8, DEFAULT_MODE, 3), ((0,), ((1, 3, 5), (2, 4, 6)), (7,))),
        ((8, "sequential_with_shared_start_and_end", 3, 2), ((0,), ((1, 2, 3), (4, 5, 6)), (7,))),
        ((6, "sequential", 2), ((), ((0, 1), (2, 3), (4, 5)), ())),
        ((6, "uniform", 2), ((), ((0, 3), (1, 4), (2, 5)), ())),
        ((6, "sequential_with_shared_start", 2), ((0, 1), ((2, 3), (4, 5)), ())),
        ((6, "uniform_with_shared_start", 2), ((0, 1), ((2, 4), (3, 5)), ())),
        # The first layer is shared and counted once.
        ((5, "sequential_with_first_layer", 2), ((0,), ((1, 2), (3, 4)), ())),
        ((5, "uniform_with_first_layer", 2), ((0,), ((1, 3), (2, 4)), ())),
    ],
)  # fmt: skip
def test_a_plan_is_the_one_written_out(arguments, expected):
    assert chunk_plan(*arguments) == ChunkPlan(*expected)


@given(layers, st.integers(1, 6), st.integers(1, 12), st.integers(0, 48))
def test_chunks_begin_behind_as_many_layers_as_asked_or_do_not_fit(
    num_layers, number, size, before
):
    fitting = before + number * size <= num_layers
    arguments = (num_layers, DEFAULT_MODE, size, number, None, before)
    assert fits(*arguments) == fitting
    if fitting:
        plan = chunk_plan(*arguments)
        assert plan.start == tuple(range(before))
        assert plan.end == tuple(range(before + number * size, num_layers))
        assert sorted(used(plan)) == list(range(num_layers))
        assert [chunk[0] for chunk in plan.chunks] == list(range(before, before + number))


@pytest.mark.parametrize("mode", ["uniform", "sequential_with_shared_start", "prune"])
def test_only_chunks_between_shared_layers_can_be_moved(mode):
    with pytest.raises(UserError, match="layers_before_chunks is 2 with the mode"):
        chunk_plan(24, mode, 6, layers_before_chunks=2)


@given(layers, st.sampled_from(CHUNKED), st.integers(1, 48), st.integers(1, 48) | st.none())
def test_a_plan_uses_every_layer_once_and_in_order(num_layers, mode, size, number):
    if not fits(num_layers, mode, size, number):
        return
    plan = chunk_plan(num_layers, mode, size, number)
    assert sorted(used(plan)) == list(range(num_layers))
    assert all(len(chunk) == size and list(chunk) == sorted(chunk) for chunk in plan.chunks)
    assert number in (None, len(plan.chunks))
    first, *_, last = (*plan.start, -1), (*plan.end, num_layers)
    assert all(max(first) < layer < min(last) for chunk in plan.chunks for layer in chunk)


@given(layers, st.sampled_from(CHUNKED), st.integers(1, 48))
def test_a_mode_accepts_exactly_the_numbers_that_come_out_even(num_layers, mode, size):
    if mode.endswith("shared_start_and_end"):
        even = 2 * size <= num_layers and num_layers % 2 == 0
    elif mode.endswith("first_layer"):
        even = num_layers > 1 and (num_layers - 1) % size == 0
    elif mode.endswith("shared_start"):
        even = num_layers > size and num_layers % size == 0
    else:
        even = num_layers % size == 0
    assert fits(num_layers, mode, size) == even


@given(layers, st.sampled_from(CHUNKED))
def test_no_chunks_of_no_layers_is_the_unchanged_model(num_layers, mode):
    assert chunk_plan(num_layers, mode, 0, 0) == ChunkPlan(tuple(range(num_layers)), (), ())


@given(st.data(), layers)
def test_pruning_leaves_out_the_listed_layers_and_keeps_the_order(data, num_layers):
    listed = data.draw(st.lists(st.integers(1, num_layers), unique=True, max_size=num_layers - 1))
    plan = chunk_plan(num_layers, "prune", None, layers_to_prune=listed)
    assert list(plan.start) == [n - 1 for n in range(1, num_layers + 1) if n not in listed]
    assert plan.chunks == plan.end == ()


@given(layers, st.sampled_from(CHUNKED), st.integers(0, 60), st.integers(0, 60) | st.none())
def test_a_refusal_is_one_sentence_whose_proposals_all_fit(num_layers, mode, size, number):
    try:
        chunk_plan(num_layers, mode, size, number)
    except UserError as error:
        (sentence,) = error.problems
        assert sentence.endswith(".") and "\n" not in sentence
        assert re.match(rf"{num_layers} layers? cannot be cut", sentence) and mode in sentence
        assert re.search(rf"of {size} layers?\b", sentence)
        assert number is None or re.search(rf"into {number} chunks? of", sentence)
        proposals = re.findall(r"(\d+) chunks? of (\d+)", sentence.split("nearest fit:")[1])
        assert proposals
        assert all(fits(num_layers, mode, int(m), int(k)) for k, m in proposals)


def test_the_nearest_plans_are_named():
    with pytest.raises(UserError, match=r"fit: 4 chunks of 6 or 3 chunks of 6 or 4 chunks of 5 \("):
        chunk_plan(24, DEFAULT_MODE, 6, 5)


@given(layers, st.integers(1, 6), st.integers(1, 12))
def test_an_odd_layer_too_many_may_stand_behind_the_chunks(num_layers, number, size):
    """Layers that do not divide are shared: as many before as behind, or as the sentence proposes."""
    shared = num_layers - number * size
    if shared < 1 or shared % 2 == 0:
        assert fits(num_layers, DEFAULT_MODE, size, number) == (shared >= 0)
        return
    with pytest.raises(UserError) as refused:
        chunk_plan(num_layers, DEFAULT_MODE, size, number)
    proposed = re.search(r"or layers_before_chunks: (\d+), with (\d+) behind", str(refused.value))
    plan = chunk_plan(num_layers, DEFAULT_MODE, size, number, None, int(proposed[1]))
    assert len(plan.end) == int(proposed[2]) == len(plan.start) + 1
    assert sorted(used(plan)) == list(range(num_layers))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, "uniform", 1), "A model of 0 layers"),
        ((6, "unifrom", 1), "'unifrom' is not a chunking mode"),
        ((6, "uniform", None), "num_layers_per_chunk is missing"),
        ((6, "uniform", 2, None, [1]), r"layers_to_prune is \[1\] with the mode uniform"),
        ((6, "uniform", 0, 2), "6 layers cannot be cut into 2 chunks of 0 layers"),
        ((6, DEFAULT_MODE, 2, 0), "6 layers cannot be cut into 0 chunks of 2 layers"),
        ((6, "prune", None, None, [0]), "the layer 0 of a model of 6 layers; expected .* 1 to 6"),
        ((6, "prune", None, None, [7]), "the layer 7 of a model of 6 layers"),
        ((2, "prune", None, None, [1, 2]), "names all 2 layers"),
        ((1, "uniform_with_first_layer", 1), "fit: 0 chunks of 0"),
    ],
)
def test_contradictions_are_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        chunk_plan(*arguments)
