"""Compare the published train-before-test grid with ours: the leaderboard and the separately released scores."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.frames import index_checkpoints
from workflow_scripts.render.verdict import DIFFERENCE_Z, compute_repeat_error
from workflow_scripts.scores.published_leaderboard import (
    COLA_LABEL_COUNTS,
    TEST_ITEMS,
    convert_to_fractions,
)
from workflow_scripts.stats.proportions import compute_fraction_stderr, compute_mcc_step
from workflow_scripts.stats.reruns import RetrainingNoise
from workflow_scripts.studies.ranking.grid_tables import (
    CLIPPED,
    DIRECT,
    OWN,
    STDERR_SUFFIX,
    TRAINED,
)

# The files of both releases, which the table of comparisons names as sources.
LEADERBOARD = "harmony_leaderboard"
CELLS = "harmony_cells"
AFTER_TRAINING = "score"  # the metric in rows of scores after training
_CORRELATION_TASK = "cola"  # the standard error of its metric does not follow from its value
_PRINTED_TO = 1e-4  # resolution of the leaderboard's scores, as fractions


def compare_harmony(
    published: pd.DataFrame, ours: pd.DataFrame | None, noise: RetrainingNoise
) -> Iterator[dict]:
    """Yield a row for each score of the published leaderboard, after training."""
    wide = convert_to_fractions(published.set_index("model"))
    scores = wide.rename_axis(columns="task").stack().rename("value").reset_index()
    items = scores["task"].map(TEST_ITEMS).where(scores["task"] != _CORRELATION_TASK)
    stderr = compute_fraction_stderr(scores["value"], items - 1)
    scores = scores.assign(protocol=TRAINED, stderr=stderr)
    return _compare_scores(LEADERBOARD, scores, ours, noise, _PRINTED_TO)


def compare_cells(
    published: pd.DataFrame, ours: pd.DataFrame | None, noise: RetrainingNoise
) -> Iterator[dict]:
    """Yield a row for each score of the authors' second release, direct and after training."""
    scores = published[published["task"].isin(TEST_ITEMS)]
    return _compare_scores(CELLS, scores, ours, noise, 0)


def _compare_scores(
    source: str,
    published: pd.DataFrame,
    ours: pd.DataFrame | None,
    noise: RetrainingNoise,
    printed_to: float,
) -> Iterator[dict]:
    """Compare published scores with ours by the standard error of their difference.

    Both runs use the same test items. Direct scores involve no sampling or training: only the order of floating-point
    sums on two devices may differ. Scores after training differ by retraining noise; published ones are the higher of
    both scores (none is below the direct one), and so are ours.
    """
    own = None if ours is None else ours[ours["origin"] == OWN]
    our_rows = index_checkpoints(own, "protocol")
    for row in published.to_dict("records"):
        model = row["model"]
        task = row["task"]
        step = _compute_step(task, row["value"])
        if row["protocol"] == TRAINED:
            metric = AFTER_TRAINING
            our_row = our_rows.get((model, CLIPPED), {})
            error = max(noise.compute_limit(task, model) / DIFFERENCE_Z, step)
        else:
            metric = DIRECT
            our_row = our_rows.get((model, DIRECT), {})
            error = compute_repeat_error(TEST_ITEMS[task], step)
        yield {
            "source": source,
            "of": model,
            "item": task,
            "metric": metric,
            "published": row["value"],
            "published_stderr": row["stderr"],
            "ours": our_row.get(task),
            "ours_stderr": our_row.get(f"{task}{STDERR_SUFFIX}"),
            "error": error,
            "printed_to": printed_to,
        }


def _compute_step(task: str, value: float) -> float:
    """Compute the change of a score by one answer."""
    return (
        compute_mcc_step(value, *COLA_LABEL_COUNTS)
        if task == _CORRELATION_TASK
        else 1 / TEST_ITEMS[task]
    )
