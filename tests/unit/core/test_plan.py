"""Chunk plans: the published examples, and what must hold for every plan of every model size."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import BOTH_SIDES, DEFAULT_MODE, ChunkPlan, Mode, chunk_plan

CHUNKED = [mode for mode in get_args(Mode) if mode != "prune"]
layers = st.integers(1, 48)


def show(plan: ChunkPlan) -> str:
    start, *chunks, end = (
        " ".join(map(str, layers)) for layers in (plan.start, *plan.chunks, plan.end)
    )
    return f"{start} [{' | '.join(chunks)}] {end}".strip()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # As published: even beside odd layers, and a quarter shared on each side.
        ((8, DEFAULT_MODE, 4, 2), "[0 2 4 6 | 1 3 5 7]"),
        ((8, DEFAULT_MODE, 2, 2), "0 1 [2 4 | 3 5] 6 7"),
        # Without a number of chunks there are two where a start and an end are shared.
        ((8, DEFAULT_MODE, 3), "0 [1 3 5 | 2 4 6] 7"),
        ((9, DEFAULT_MODE, 3, 2, None, 1), "0 [1 3 5 | 2 4 6] 7 8"),
        ((8, "sequential_with_shared_start_and_end", 3, 2), "0 [1 2 3 | 4 5 6] 7"),
        ((6, "sequential", 2), "[0 1 | 2 3 | 4 5]"),
        ((6, "uniform", 2), "[0 3 | 1 4 | 2 5]"),
        ((6, "sequential_with_shared_start", 2), "0 1 [2 3 | 4 5]"),
        ((6, "uniform_with_shared_start", 2), "0 1 [2 4 | 3 5]"),
        # The first layer is shared and counted once.
        ((5, "sequential_with_first_layer", 2), "0 [1 2 | 3 4]"),
        ((5, "uniform_with_first_layer", 2), "0 [1 3 | 2 4]"),
        ((3, "uniform", 0, 0), "0 1 2 []"),
        ((6, "prune", None, None, [1, 4]), "1 2 4 5 []"),
    ],
)
def test_chunk_plan(arguments, expected):
    assert show(chunk_plan(*arguments)) == expected


def is_even(num_layers, mode, size, number, before) -> bool:
    """Say by arithmetic alone whether the layers come out even."""
    shared = num_layers - size * number
    if mode.endswith(BOTH_SIDES):
        return shared >= 0 and (shared % 2 == 0 if before is None else shared >= before)
    return shared == (size if "start" in mode else "first" in mode)


@given(layers, st.sampled_from(CHUNKED), st.integers(1, 24), st.integers(1, 12), st.none() | layers)
def test_chunk_plan_uses_each_layer_once(num_layers, mode, size, number, before):
    before = before if mode.endswith(BOTH_SIDES) else None
    if not is_even(num_layers, mode, size, number, before):
        with pytest.raises(UserError, match="cannot be cut into") as error:
            chunk_plan(num_layers, mode, size, number, None, before)
        proposals = re.findall(r"(\d+) chunks? of (\d+)", str(error.value).split("nearest fit:")[1])
        assert all(
            is_even(num_layers, mode, int(m), int(k), before) for k, m in proposals if k != "0"
        )
        return
    plan = chunk_plan(num_layers, mode, size, number, None, before)
    assert len(plan.chunks) == number and all(len(chunk) == size for chunk in plan.chunks)
    assert plan.start == tuple(range(len(plan.start)))
    assert plan.end == tuple(range(num_layers - len(plan.end), num_layers))
    inner = [layer for chunk in plan.chunks for layer in chunk]
    assert sorted([*plan.start, *inner, *plan.end]) == list(range(num_layers))
    assert all(list(chunk) == sorted(chunk) for chunk in plan.chunks)
    assert before in (None, len(plan.start))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((24, "uniform", 6, None, None, 2), "layers_before_chunks is 2 with the mode"),
        ((6, "uniform", None), "num_layers_per_chunk is missing"),
        ((6, "uniform", 2, None, [1]), r"layers_to_prune is \[1\] with the mode uniform"),
        ((6, "uniform", 0, 2), "6 layers cannot be cut into 2 chunks of 0 layers"),
        ((6, DEFAULT_MODE, 2, 0), "6 layers cannot be cut into 0 chunks of 2 layers"),
        ((6, "prune", None, None, [0]), "expected numbers from 1 to 6"),
        ((6, "prune", None, None, [7]), "the layer 7 of a model of 6 layers"),
        ((2, "prune", None, None, [1, 2]), "one layer that stays"),
        ((1, "uniform_with_first_layer", 1), "nearest fit: none"),
        ((24, DEFAULT_MODE, 6, 5), "fit: 4 chunks of 6"),
    ],
)
def test_chunk_plan_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        chunk_plan(*arguments)
