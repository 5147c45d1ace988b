"""Chunk plans: the published examples, and what must hold for every plan of every model size."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import load_cases
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import BOTH_SIDES, ChunkPlan, Mode, chunk_plan


def format_plan(plan: ChunkPlan) -> str:
    start, *chunks, end = (
        " ".join(map(str, layers)) for layers in (plan.start, *plan.chunks, plan.end)
    )
    return f"{start} [{' / '.join(chunks)}] {end}".strip()


@pytest.mark.parametrize(("keys", "expected"), load_cases(__file__, "plans.txt"))
def test_chunk_plan(keys, expected):
    assert [format_plan(chunk_plan(**keys))] == expected


@given(
    st.integers(1, 48),
    st.sampled_from([mode for mode in get_args(Mode) if mode != "prune"]),
    st.integers(1, 24),
    st.integers(1, 12),
    st.none() | st.integers(1, 48),
)
def test_chunk_plan_layers(num_layers, mode, size, number, before):
    """A plan uses each layer once; arithmetic alone says if the layers come out even."""
    shared = num_layers - size * number
    if mode.endswith(BOTH_SIDES):
        is_even = shared >= (before or 0) and (before is not None or shared % 2 == 0)
    else:
        before = None
        is_even = shared == (size if "start" in mode else "first" in mode)
    if not is_even:
        with pytest.raises(UserError, match="cannot be cut into"):
            chunk_plan(num_layers, mode, size, number, None, before)
        return
    plan = chunk_plan(num_layers, mode, size, number, None, before)
    assert len(plan.chunks) == number and all(len(chunk) == size for chunk in plan.chunks)
    assert plan.start == tuple(range(len(plan.start)))
    assert plan.end == tuple(range(num_layers - len(plan.end), num_layers))
    inner = [layer for chunk in plan.chunks for layer in chunk]
    assert sorted([*plan.start, *inner, *plan.end]) == list(range(num_layers))
    assert all(list(chunk) == sorted(chunk) for chunk in plan.chunks)
    assert before in (None, len(plan.start))


@pytest.mark.parametrize(("keys", "expected"), load_cases(__file__, "bad_plans.txt"))
def test_chunk_plan_refused(keys, expected):
    with pytest.raises(UserError) as error:
        chunk_plan(**keys)
    assert expected[0] in str(error.value)
