"""A shared disk that shows a record some seconds after its job has ended: Snakemake waits for it."""

import shutil

import pytest

from tests.faults.misfortunes import ITEM_SCORED, RECORD_WRITTEN, Misfortunes
from tests.faults.outcome import differences
from tests.results import results_of
from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

_CELL = "direct/miniature--Qwen2-0.2M"


def test_it_is_waited_for_and_nothing_is_computed_twice(finished_grid, copied, tmp_path):
    misfortunes = Misfortunes(tmp_path / "faults")
    shutil.rmtree(copied / f"results/records/harmony/{_CELL}")
    misfortunes.plan("late", RECORD_WRITTEN, within=f"{_CELL}/", deed="hide", seconds=8)
    wait = [f"results/records/harmony/{_CELL}/mnli.json", *GRID, "--latency-wait", "60"]
    result = run_snakemake(copied, *TARGETS, *wait, "--retries", "0", **misfortunes.environment)
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    assert "Waiting at most 60 seconds" in said
    assert set(misfortunes.computed(ITEM_SCORED).values()) == {1}
    assert not differences(copied, results_of(finished_grid))
