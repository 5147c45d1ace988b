"""What the rules make of a model that a server answers for, with the real Snakemake and no server."""

import pytest

from tests.workflow.snakemake import jobs_of, run_snakemake, with_config

pytestmark = pytest.mark.workflow

SERVED = "miniature/Qwen2-0.2M"


def test_its_cells_wait_until_the_server_is_taken_which_its_weights_and_questions_are_for(tmp_path):
    changes = {
        "served": {SERVED: {"endpoint": "http://127.0.0.1:9/v1"}},
        "harmony": {"models": [SERVED], "protocols": ["direct"], "tasks": ["sst2"]},
    }
    scores = "results/scores/harmony.parquet"
    jobs = jobs_of(run_snakemake(tmp_path, scores, "-n", *with_config(tmp_path, **changes)))
    assert jobs == {
        "build_world": 1,
        "place_miniature_model": 1,
        "take_served_model": 1,
        "evaluate_direct": 1,
        "collect_scores": 1,
    }
