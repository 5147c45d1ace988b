"""Test the engine and the harness on real questions."""

import math

import pytest
from lm_eval.models.huggingface import HFLM

from tests.cells import make_cell
from workflow_scripts.evaluation.direct import evaluate_loaded
from workflow_scripts.evaluation.prefix_lm import PrefixLM
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.record_fields import RunTracker

pytestmark = pytest.mark.real

# Zero-shot with lm-eval, from the column "Baseline" in the model card of
# lldois/SmolLM2-135M-Reasoning-SLERP-Champion.
ARC_CHALLENGE_PUBLISHED = 0.2773


@pytest.fixture(scope="module")
def build_requests(hub):
    """Build lm-eval's log-likelihood requests for the first items of a task."""

    def build(task: str, items: int) -> list:
        from lm_eval.tasks import TaskManager

        with mirror(hub):
            (lm_task,) = TaskManager().load([task])["tasks"].values()
            lm_task.set_config("num_fewshot", 0)
            lm_task.build_all_requests(limit=items, rank=0, world_size=1)
        return lm_task.instances

    return build


@pytest.mark.parametrize(
    ("task", "items"),
    [("arc_challenge", 24), ("mmlu_anatomy", 12), ("mmlu_professional_law", 4), ("cola", 24)],
)
def test_engine_equals_hflm(loaded, build_requests, task, items):
    common = {"pretrained": loaded.model, "tokenizer": loaded.tokenizer, "batch_size": 8}
    requests = build_requests(task, items)
    assert len(requests) >= 2 * items
    expected, scores = (
        lm.loglikelihood(requests, True) for lm in (HFLM(**common), PrefixLM(**common))
    )
    # float32 sums differ in order, over up to some dozen tokens from a vocabulary of 49,152.
    assert [value for value, _ in scores] == pytest.approx([v for v, _ in expected], abs=2e-3)
    assert [greedy for _, greedy in scores] == [greedy for _, greedy in expected]


def test_arc_challenge_published_score(hub, loaded, tmp_path):
    record = evaluate_loaded(
        loaded, hub, tmp_path / "arc.json", make_cell("arc_challenge", "acc_norm"), RunTracker()
    )
    (score,) = (metric for metric in record.metrics if metric.name == "acc_norm")
    assert score.n >= 1_150
    assert score.stderr == pytest.approx(
        math.sqrt(score.value * (1 - score.value) / score.n), rel=0.01
    )
    assert abs(score.value - ARC_CHALLENGE_PUBLISHED) < 2 * score.stderr
