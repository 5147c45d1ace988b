"""Test the rules for a model behind an API server, with Snakemake and without a server."""

import pytest

from tests.workflow.snakemake import count_jobs, run_snakemake, write_changed_config

pytestmark = pytest.mark.workflow

SERVED = "miniature/Qwen2-0.2M"


def test_served_cells_wait_for_description(tmp_path):
    changes = {
        "served": {SERVED: {"endpoint": "http://127.0.0.1:9/v1"}},
        "harmony": {"models": [SERVED], "protocols": ["direct"], "tasks": ["sst2"]},
    }
    scores = "results/scores/harmony.parquet"
    jobs = count_jobs(
        run_snakemake(tmp_path, scores, "-n", *write_changed_config(tmp_path, **changes))
    )
    assert jobs == {
        "build_world": 1,
        "place_miniature_model": 1,
        "describe_served_model": 1,
        "evaluate_direct": 1,
        "collect_scores": 1,
    }
