"""Memory of the engine's calls and of a step's logits, on cards and vocabularies of every size."""

from types import SimpleNamespace

import pytest
import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.planning.memory import (
    GPU_SHARE,
    logit_rows,
    scored_bytes,
    submitted_mb,
)


def budget_of(free: float, vocabulary: int, hidden: int, inside: int) -> Budget:
    """As the engine has it in bfloat16 with so much free beside the weights."""
    matrices = [torch.empty(rows, hidden, device="meta") for rows in (vocabulary, inside)]
    model = SimpleNamespace(
        model=SimpleNamespace(parameters=lambda: iter(matrices), config=None),
        dtype=torch.bfloat16,
        vocabulary=vocabulary,
        device="cuda",
        attention="sdpa",
        by_branch=True,
        cache_bytes=28 * 16 * hidden,
        selects_logits=True,
        selects_by_row=True,
    )
    return Budget.of(model, int(GPU_SHARE * free))


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [((152_064, 3_584, 18_944), 7.6e9), ((256_000, 3_072, 24_576), 8.5e9)],
)
def test_24_gb_hold_hundreds_of_rows_of_the_largest_vocabularies(shape, parameters):
    assert budget_of(22.5e9 - 2 * parameters, *shape).logit_rows > 200


def test_what_holds_no_row_at_all_is_refused_with_the_memory_that_it_needs():
    with pytest.raises(UserError, match=r"256,000 tokens; it needs at least \d+ MB"):
        budget_of(10e6, 256_000, 3_072, 24_576)


@pytest.mark.parametrize("vocabulary", [49_152, 152_064, 256_000])
def test_rows_of_logits_grow_with_the_budget_and_fit_their_share(vocabulary):
    before = 0
    for budget in [2**at + more for at in range(20, 38) for more in (0, 2 ** (at - 1))]:
        rows = logit_rows(budget, vocabulary, 2, "cuda")
        assert rows >= before
        before = rows
        taken = rows * 4 * vocabulary + scored_bytes(rows, vocabulary, "cuda")
        more = taken + 4 * vocabulary + scored_bytes(1, vocabulary, "cuda")
        assert taken <= budget // 4 < more, "one row more would not"


def test_a_submitted_model_takes_twice_its_weights_and_four_bytes_more_in_training():
    assert submitted_mb(1_000_000_000, "bfloat16", trains=False) == 3_000 + 4_000
    assert submitted_mb(1_000_000_000, "float32", trains=True) == 3_000 + 12_000
