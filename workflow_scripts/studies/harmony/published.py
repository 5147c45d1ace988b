"""The published train-before-test grid beside ours, cell by cell: the leaderboard, and the scores beside it."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.text import is_known
from workflow_scripts.render.verdict import (
    GENERATED,
    LIMIT,
    NOT_MEASURED,
    compute_repeat_error,
    verdict,
    within,
)
from workflow_scripts.scores.published_leaderboard import COLA, LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.stats.reruns import Reruns
from workflow_scripts.stats.shares import coefficient_step, share_error
from workflow_scripts.studies.harmony.requests import HarmonyComparison
from workflow_scripts.studies.ranking.frame import DIRECT, ERROR, FLOORED, OWN, TRAINED

NO_FLOOR = "the direct score by which it would be floored was not measured here"
SOURCE, CELLS = "harmony_leaderboard", "harmony_cells"
AFTER_TRAINING = "score"  # what the rows of scores after training have as their metric
_NO_BINOMIAL = {"cola"}  # a correlation, whose error does not follow from its value
_PRINTED_TO = 1e-4


def compare_harmony(
    published: pd.DataFrame,
    ours: pd.DataFrame | None,
    settings: HarmonyComparison,
    reruns: Reruns,
) -> Iterator[dict]:
    """A row for each number of the published table: a score a task, PC1 and rank.

    The same questions were asked, so what a score may differ by is what another training does.
    """
    tasks = [column for column in published.columns if column not in LEADING_COLUMNS]
    cells = {} if ours is None else _floored(ours)  # as the published look
    same_grid = set(cells) == set(published["model"]) and not any(
        pd.isna(cells[model].get(task)) for model in published["model"] for task in tasks
    )
    general = GENERATED if settings.source == "miniature" else None
    grid = None if same_grid else "it depends on all models and tasks, and here the grid is another"
    no_error = "no standard error of it is known; the ranks are compared"
    for theirs in published.to_dict("records"):
        cell = cells.get(theirs["model"], {})
        about = {"source": SOURCE, "of": theirs["model"]}
        for task in tasks:
            yield about | _score(theirs, cell, task, general, reruns)
        why_not = general or (grid if cell else NOT_MEASURED)
        numbers = {"published": theirs["rank"], "ours": cell.get("rank")}
        agrees = within(theirs["rank"], cell.get("rank_low"), cell.get("rank_high"), why_not)
        yield about | {"item": "rank", "metric": "rank"} | numbers | agrees
        numbers = {"published": theirs["pc1"], "ours": cell.get("pc1")}
        agrees = within(theirs["pc1"], None, None, why_not or no_error)
        yield about | {"item": "PC1", "metric": "pc1"} | numbers | agrees


def compare_cells(
    published: pd.DataFrame, ours: pd.DataFrame | None, settings: HarmonyComparison, reruns: Reruns
) -> Iterator[dict]:
    """A row for each score of the authors' second release, as the model is and after training.

    As it is, nothing is drawn and nothing trained: only what two devices add up otherwise may differ.
    Theirs after training are the better of both scores (none lies below the direct one), and so are ours.
    """
    general = GENERATED if settings.source == "miniature" else None
    cells: dict[str, dict[str, dict]] = {DIRECT: {}, TRAINED: {}}
    if ours is not None:
        cells = {DIRECT: _comparable(ours, DIRECT), TRAINED: _floored(ours)}
    for theirs in published[published["task"].isin(TEST_ITEMS)].to_dict("records"):
        trained, task, value = theirs["protocol"] == TRAINED, theirs["task"], theirs["value"]
        cell = cells[theirs["protocol"]].get(theirs["model"], {})
        score, error = cell.get(task), cell.get(f"{task}{ERROR}")
        step = _step(task, value)
        apart = (
            max(reruns.most(task, theirs["model"]) / LIMIT, step)
            if trained
            else compute_repeat_error(TEST_ITEMS[task], step)
        )
        yield {
            **{"source": CELLS, "of": theirs["model"], "item": task},
            "metric": AFTER_TRAINING if trained else DIRECT,
            **{"published": value, "published_stderr": theirs["stderr"]},
            **{"ours": score, "ours_stderr": error},
            **verdict(
                value,
                theirs["stderr"],
                score,
                error,
                general or _no_floor(cell, task),
                printed_to=0,
                error=apart,
            ),
        }


def _step(task: str, value: float) -> float:
    """The least by which a score can differ: what one answer counts."""
    return coefficient_step(value, *COLA) if task in _NO_BINOMIAL else 1 / TEST_ITEMS[task]


def _comparable(ours: pd.DataFrame, protocol: str) -> dict[str, dict]:
    """Our unchanged models by name."""
    mine = ours[(ours["protocol"] == protocol) & (ours["origin"] == OWN)]
    mine = mine[mine["variant"].isna() | (mine["variant"] == "")]
    return {row["model"]: row for row in mine.to_dict("records")}


def _floored(ours: pd.DataFrame) -> dict[str, dict]:
    """Those of scores after training, floored; beside each model what it has that no direct score floors."""
    found = _comparable(ours, FLOORED)
    for model, raw in _comparable(ours, TRAINED).items():
        found.setdefault(model, {})["raw"] = raw
    return found


def _no_floor(cell: dict, task: str) -> str | None:
    lacking = is_known(cell.get("raw", {}).get(task)) and not is_known(cell.get(task))
    return NO_FLOOR if lacking else None


def _score(theirs: dict, cell: dict, task: str, general: str | None, reruns: Reruns) -> dict:
    value, stderr = theirs[task] / 100, None
    if task not in _NO_BINOMIAL:
        stderr = float(share_error(value, TEST_ITEMS[task] - 1))
    score, error = cell.get(task), cell.get(f"{task}{ERROR}")
    found = {"item": task, "metric": AFTER_TRAINING, "published": value, "published_stderr": stderr}
    found |= {"ours": score, "ours_stderr": error}
    apart = max(reruns.most(task, theirs["model"]) / LIMIT, _step(task, value))
    why_not = general or _no_floor(cell, task)
    return found | verdict(
        value, stderr, score, error, why_not, printed_to=_PRINTED_TO, error=apart
    )
