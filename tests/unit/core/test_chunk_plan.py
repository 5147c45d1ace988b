"""Test chunk plans: the published examples, and invariants for all plans and model sizes."""

from itertools import product
from typing import get_args

import pytest

from tests.tables import load_cases
from workflow_scripts.core.chunk_plan import ChunkPlan, Mode, build_chunk_plan
from workflow_scripts.core.errors import UserError


def format_plan(plan: ChunkPlan) -> str:
    start, *chunks, end = (
        " ".join(map(str, layers)) for layers in (plan.start, *plan.chunks, plan.end)
    )
    return f"{start} [{' / '.join(chunks)}] {end}".strip()


@pytest.mark.parametrize(("keys", "expected"), load_cases(__file__, "plans.txt"))
def test_chunk_plan(keys, expected):
    assert [format_plan(build_chunk_plan(**keys))] == expected


@pytest.mark.parametrize("mode", [mode for mode in get_args(Mode) if mode != "prune"])
def test_chunk_plan_layers(mode):
    """An accepted plan uses each layer once."""
    accepted = 0
    for layers, size, number in product(range(1, 11), range(1, 6), range(1, 6)):
        try:
            plan = build_chunk_plan(layers, mode, size, number)
        except UserError:
            continue
        accepted += 1
        assert [len(chunk) for chunk in plan.chunks] == [size] * number
        inner = sorted(layer for chunk in plan.chunks for layer in chunk)
        assert [*plan.start, *inner, *plan.end] == list(range(layers))
    assert accepted > 5


@pytest.mark.parametrize(("keys", "expected"), load_cases(__file__, "bad_plans.txt"))
def test_chunk_plan_refused(keys, expected):
    with pytest.raises(UserError) as error:
        build_chunk_plan(**keys)
    assert expected[0] in str(error.value)
