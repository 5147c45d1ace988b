"""Compare the published train-before-test grid with ours: the leaderboard and the separately released scores."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.verdict import (
    GENERATED,
    LIMIT,
    NOT_MEASURED,
    compute_repeat_error,
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
    for line in published.to_dict("records"):
        model, rank = line["model"], line["rank"]
        cell, base = cells.get(model, {}), {"source": SOURCE, "of": model}
        for task in tasks:
            value, stderr = line[task] / 100, None
            if task != _CORRELATION:
                stderr = float(compute_share_stderr(value, TEST_ITEMS[task] - 1))
            error = _compute_training_error(reruns, task, model, value)
            row = {"metric": AFTER_TRAINING, "published": value, "published_stderr": stderr}
            row |= {"error": error, "printed_to": _PRINTED_TO, "because": general}
            yield base | row | _get_score(cell, task)
        yield base | {
            "item": "rank",
            "metric": "rank",
            "published": rank,
            "ours": cell.get("rank"),
            "low": cell.get("rank_low"),
            "high": cell.get("rank_high"),
            "because": general or (grid if cell else NOT_MEASURED),
        }


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
        yield {
            "source": CELLS,
            "of": model,
            "metric": AFTER_TRAINING if protocol == TRAINED else DIRECT,
            "published": value,
            "published_stderr": row["stderr"],
            "error": error,
            "printed_to": 0,
            "because": general,
            **_get_score(cells[protocol].get(model, {}), task),
        }


def _get_score(cell: dict, task: str) -> dict:
    return {"item": task, "ours": cell.get(task), "ours_stderr": cell.get(f"{task}{ERROR}")}


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
