"""Test that one cell with a job killed on every attempt does not prevent the tables of the other cells."""

import shutil

import pandas as pd
import pytest

from tests.faults.fault_injection import ITEM_SCORED, Faults
from tests.results import read_results
from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

_CELL = "direct/miniature--Qwen2-0.2M"


def test_killed_cell_is_listed_missing(finished_grid, tmp_path):
    folder = shutil.copytree(finished_grid, tmp_path / "copy", symlinks=True)
    for part in (f"records/harmony/{_CELL}", "scores", "tables"):
        shutil.rmtree(folder / "results" / part)
    faults = Faults(tmp_path / "faults")
    for number in range(5):
        faults.plan(f"kill {number}", ITEM_SCORED, within=f"{_CELL}/", time=5, action="kill")
    result = run_snakemake(folder, *TARGETS, *GRID, **faults.environment)
    output = result.stdout + result.stderr
    assert result.returncode == 0 and "Killed on every attempt" in output, output
    scores = pd.read_csv(folder / "results/tables/harmony_scores.csv")
    assert scores["value"].isna().sum() == 1, "the one cell is missing"
    # 25 items were scored before the kills; the next run scores only the rest.
    before = faults.count(ITEM_SCORED)
    assert len(before) == before.total() == 25
    record = f"results/records/harmony/{_CELL}/mnli.json"  # as the study's target requests it
    rerun = run_snakemake(folder, *TARGETS, record, *GRID, **faults.environment)
    assert rerun.returncode == 0, rerun.stdout + rerun.stderr
    assert set(faults.count(ITEM_SCORED).values()) == {1}
    assert read_results(folder) == read_results(finished_grid)
