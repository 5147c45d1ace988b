"""What the rules make of a model that a server answers for, with the real Snakemake and no server."""

import pytest

from tests.workflow.snakemake import jobs_of, run_snakemake, with_config

pytestmark = pytest.mark.workflow

SERVED = "miniature/Qwen2-0.2M"


def test_its_cells_wait_for_the_server_to_be_taken_and_for_its_weights_if_it_is_checked(tmp_path):
    harmony = {"models": [SERVED], "protocols": ["direct"], "tasks": ["sst2"]}
    server = {"endpoint": "http://127.0.0.1:9/v1"}
    found = [
        run_snakemake(
            tmp_path,
            "results/scores/harmony.parquet",
            "-n",
            *with_config(tmp_path, served={SERVED: server | {"check": check}}, harmony=harmony),
        )
        for check in (True, False)
    ]
    for result in found:
        assert {
            name: count
            for name, count in jobs_of(result).items()
            if name in ("take_served_model", "evaluate_direct", "place_miniature_model")
        } == {"take_served_model": 1, "evaluate_direct": 1, "place_miniature_model": 1}
