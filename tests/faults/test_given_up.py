"""One cell whose job is killed on every attempt does not keep the others from their tables."""

import shutil

import pandas as pd
import pytest

from tests.faults.misfortunes import ITEM_SCORED, Misfortunes
from tests.results import results_of
from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

_CELL = "direct/miniature--Qwen2-0.2M"


def test_tables_list_it_as_missing_and_the_next_run_goes_on_with_it(
    finished_grid, copied, tmp_path
):
    for made in (f"records/harmony/{_CELL}", "scores", "tables"):
        shutil.rmtree(copied / "results" / made)
    misfortunes = Misfortunes(tmp_path / "faults")
    for number in range(3):
        within = f"{_CELL}/"
        misfortunes.plan(f"kill {number}", ITEM_SCORED, within=within, time=5, deed="die")
    result = run_snakemake(copied, *TARGETS, *GRID, **misfortunes.environment)
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    assert "Killed on every attempt" in said
    scores = pd.read_csv(copied / "results/tables/harmony_scores.csv")
    assert scores["value"].isna().sum() == 1, "the one cell is missing"
    # Fifteen items were scored before the kills; the next run scores the rest of them alone.
    before = misfortunes.computed(ITEM_SCORED)
    assert len(before) == before.total() == 15
    record = f"results/records/harmony/{_CELL}/mnli.json"  # as the study's own target asks for it
    again = run_snakemake(copied, *TARGETS, record, *GRID, **misfortunes.environment)
    assert again.returncode == 0, again.stdout + again.stderr
    assert set(misfortunes.computed(ITEM_SCORED).values()) == {1}
    assert results_of(copied) == results_of(finished_grid)
