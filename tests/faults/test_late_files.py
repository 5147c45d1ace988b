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


@pytest.fixture
def misfortunes(tmp_path):
    return Misfortunes(tmp_path / "faults")


def run_with_a_late_record(finished_grid, folder, misfortunes, patience: int):
    shutil.copytree(finished_grid, folder, symlinks=True)
    shutil.rmtree(folder / f"results/records/harmony/{_CELL}")
    misfortunes.plan("late", RECORD_WRITTEN, within=f"{_CELL}/", deed="hide", seconds=8)
    record = f"results/records/harmony/{_CELL}/mnli.json"
    wait = ["--latency-wait", str(patience), "--retries", "0"]
    return run_snakemake(folder, *TARGETS, record, *GRID, *wait, **misfortunes.environment)


def test_it_is_waited_for_and_nothing_is_computed_twice(finished_grid, tmp_path, misfortunes):
    folder = tmp_path / "copy"
    result = run_with_a_late_record(finished_grid, folder, misfortunes, patience=60)
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    assert "Waiting at most 60 seconds" in said
    assert set(misfortunes.computed(ITEM_SCORED).values()) == {1}
    assert not differences(folder, results_of(finished_grid))
