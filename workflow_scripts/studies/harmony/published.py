"""Compare the published train-before-test grid with ours: the leaderboard and the separately released scores."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.verdict import (
    GENERATED,
    LIMIT,
    NOT_MEASURED,
    compute_repeat_error,
    verdict,
    within,
)
from workflow_scripts.scores.published_leaderboard import COLA, LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.stats.proportions import compute_mcc_step, compute_share_stderr
from workflow_scripts.stats.reruns import Reruns
from workflow_scripts.studies.ranking.frame import CLIPPED, DIRECT, ERROR, OWN, TRAINED

SOURCE, CELLS = "harmony_leaderboard", "harmony_cells"
AFTER_TRAINING = "score"  # the metric in rows of scores after training
_CORRELATION = "cola"  # its standard error does not follow from its value
_PRINTED_TO = 1e-4


def compare_harmony(
    published: pd.DataFrame,
    ours: pd.DataFrame | None,
    source: str,
    reruns: Reruns,
) -> Iterator[dict]:
    """Yield a row for each published number that has an error: one score per task, and the rank.

    Both runs use the same test items, so scores differ only by retraining noise.
    """
    tasks = [column for column in published.columns if column not in LEADING_COLUMNS]
    cells = _index_models(ours, CLIPPED)  # published scores are clipped too
    same_grid = set(cells) == set(published["model"]) and not any(
        pd.isna(cells[model].get(task)) for model in published["model"] for task in tasks
    )
    general = GENERATED if source == "miniature" else None
    grid = None if same_grid else "it depends on all models and tasks, and here the grid is another"
    for row in published.to_dict("records"):
        model, rank = row["model"], row["rank"]
        cell, base = cells.get(model, {}), {"source": SOURCE, "of": model}
        for task in tasks:
            value, stderr = row[task] / 100, None
            if task != _CORRELATION:
                stderr = float(compute_share_stderr(value, TEST_ITEMS[task] - 1))
            error = _compute_training_error(reruns, task, model, value)
            numbers = _compare(cell, task, value, stderr, error, general, _PRINTED_TO)
            yield base | {"metric": AFTER_TRAINING} | numbers
        why_not = general or (grid if cell else NOT_MEASURED)
        numbers = {"item": "rank", "metric": "rank", "published": rank, "ours": cell.get("rank")}
        yield base | numbers | within(rank, cell.get("rank_low"), cell.get("rank_high"), why_not)


def compare_cells(
    published: pd.DataFrame, ours: pd.DataFrame | None, source: str, reruns: Reruns
) -> Iterator[dict]:
    """Yield a row for each score of the authors' second release, direct and after training.

    Direct scores involve no sampling or training: only the order of floating-point sums on two devices may differ.
    Published scores after training are the higher of both scores (none is below the direct one), and so are ours.
    """
    general = GENERATED if source == "miniature" else None
    cells = {DIRECT: _index_models(ours, DIRECT), TRAINED: _index_models(ours, CLIPPED)}
    for row in published[published["task"].isin(TEST_ITEMS)].to_dict("records"):
        protocol, model, task, value = (row[key] for key in ("protocol", "model", "task", "value"))
        if protocol == TRAINED:
            error = _compute_training_error(reruns, task, model, value)
        else:
            error = compute_repeat_error(TEST_ITEMS[task], _compute_step(task, value))
        base = {"source": CELLS, "of": model}
        base["metric"] = AFTER_TRAINING if protocol == TRAINED else DIRECT
        cell = cells[protocol].get(model, {})
        yield base | _compare(cell, task, value, row["stderr"], error, general, 0)


def _compare(
    cell: dict,
    task: str,
    value: float,
    stderr: float | None,
    error: float,
    why_not: str | None,
    printed_to: float,
) -> dict:
    """Compare a published score with ours; `error` is the standard error of their difference."""
    score, score_stderr = cell.get(task), cell.get(f"{task}{ERROR}")
    numbers = {"item": task, "published": value, "published_stderr": stderr}
    numbers |= {"ours": score, "ours_stderr": score_stderr}
    return numbers | verdict(
        value, stderr, score, score_stderr, why_not, printed_to=printed_to, error=error
    )


def _compute_training_error(reruns: Reruns, task: str, model: str, value: float) -> float:
    return max(reruns.most(task, model) / LIMIT, _compute_step(task, value))


def _compute_step(task: str, value: float) -> float:
    """Compute the smallest possible difference of a score: one answer."""
    return compute_mcc_step(value, *COLA) if task == _CORRELATION else 1 / TEST_ITEMS[task]


def _index_models(ours: pd.DataFrame | None, protocol: str) -> dict[str, dict]:
    """Index the rows of our unchanged models by name."""
    if ours is None:
        return {}
    rows = ours[(ours["protocol"] == protocol) & (ours["origin"] == OWN)]
    rows = rows[rows["variant"].fillna("") == ""]
    return {row["model"]: row for row in rows.to_dict("records")}
