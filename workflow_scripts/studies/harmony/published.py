"""The published train-before-test leaderboard beside ours, cell by cell."""

import math
from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.verdict import (
    GENERATED,
    NOT_MEASURED,
    verdict,
    within,
)
from workflow_scripts.scores.published_leaderboard import LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.settings.paper import HarmonyComparison
from workflow_scripts.studies.harmony.grid import OWN

SOURCE = "harmony_leaderboard"
_PROTOCOL = "train_before_test_floored"  # the published scores look floored at the direct ones
_NO_BINOMIAL = {"cola"}  # a correlation, whose error does not follow from its value
_PRINTED_TO = 1e-4


def compare_harmony(
    published: pd.DataFrame, ours: pd.DataFrame | None, settings: HarmonyComparison
) -> Iterator[dict]:
    """A row for each number of the published table: a score a task, PC1 and rank."""
    tasks = [column for column in published.columns if column not in LEADING_COLUMNS]
    cells, of_panel = {}, pd.DataFrame(columns=["model"])
    if ours is not None:
        mine = ours[(ours["protocol"] == _PROTOCOL) & (ours["origin"] == OWN)]
        mine = mine[mine["variant"].isna() | (mine["variant"] == "")]
        cells = {row["model"]: row for row in mine.to_dict("records")}
        of_panel = mine
    same_grid = set(of_panel["model"]) == set(published["model"]) and not any(
        pd.isna(cells[model].get(task)) for model in published["model"] for task in tasks
    )
    general = GENERATED if settings.source == "miniature" else settings.differs
    grid = None if same_grid else "it depends on all models and tasks, and here the grid is another"
    for theirs in published.to_dict("records"):
        cell = cells.get(theirs["model"])
        for task in tasks:
            yield _score(theirs, cell, task, general)
        common = {"source": SOURCE, "of": theirs["model"], "ours": None, "ours_stderr": None}
        common |= {"published_stderr": None, "n": None}
        unmeasured = NOT_MEASURED if cell is None else grid
        yield common | {
            "item": "rank",
            "metric": "rank",
            "published": theirs["rank"],
            "ours": cell and cell["rank"],
            **within(
                theirs["rank"],
                cell and cell["rank_low"],
                cell and cell["rank_high"],
                general or unmeasured,
            ),
        }
        no_error = "no standard error of it is known; the ranks are compared"
        yield common | {
            "item": "PC1",
            "metric": "pc1",
            "published": theirs["pc1"],
            "ours": cell and cell["pc1"],
            **within(theirs["pc1"], None, None, general or unmeasured or no_error),
        }


def _score(theirs: dict, cell: dict | None, task: str, general: str | None) -> dict:
    value = theirs[task] / 100
    stderr = None
    if task not in _NO_BINOMIAL:
        stderr = math.sqrt(value * (1 - value) / (TEST_ITEMS[task] - 1))
    score, error = (cell.get(task), cell.get(f"{task}_stderr")) if cell else (None, None)
    return {
        "source": SOURCE,
        "of": theirs["model"],
        "item": task,
        "metric": "score",
        "published": value,
        "published_stderr": stderr,
        "ours": score,
        "ours_stderr": error,
        "n": None,
        **verdict(value, stderr, score, error, general, printed_to=_PRINTED_TO),
    }
