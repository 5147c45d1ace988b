"""Test which models differ significantly, on each task and over all tasks."""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.thresholds import ALPHA
from workflow_scripts.stats.significance import correct_by_holm, run_z_test
from workflow_scripts.studies.ranking.grid import Grid, Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import OVERALL, write_grid_table

MAX_SHOWN_MODELS = 10  # the Markdown table has all pairs of this many best models of a protocol
MAX_PAIRED_MODELS = (
    100  # the CSV has all pairs of this many; for thousands of models it would have gigabytes
)
_NOTE = (
    "Difference of the mean score over the tasks that both models have, in percentage points, with its"
    " standard error, z and two-sided p; tasks won and lost count those on which the pair differs"
    " significantly. Everywhere p is corrected by Holm's method over all pairs of models of a protocol"
    f" on one task (or on the mean), and significant is below {ALPHA}. The error is that of a difference"
    " on the same items, in clusters where a task has them, and of another training of each model where"
    f" that is known. Shown are the pairs of the best {MAX_SHOWN_MODELS} models by mean score; the CSV has those of the"
    f" best {MAX_PAIRED_MODELS}, over all tasks and on each; `snakemake compare` compares any two."
)
_COLUMNS = ["protocol", "first", "second", "first_place", "second_place", "task"]
_COLUMNS += ["difference", "stderr", "z", "p", "p_holm", "tasks", "won", "lost"]


def compute_significance(grids: Grids) -> pd.DataFrame:
    """Compute one row per protocol, pair of models and task, and one row per pair over all tasks.

    `first` is the model with the higher mean score.
    """
    table = pd.concat(map(_compare_pairs, grids.values()), ignore_index=True)
    return table.reindex(columns=_COLUMNS)


def _compare_pairs(grid: Grid) -> pd.DataFrame:
    """Test all pairs of the best models of a protocol: rows over all tasks, then rows of each task."""
    best = grid.measured.mean(axis=1).dropna().sort_values(ascending=False, kind="stable")
    scores = grid.measured.loc[best.index[:MAX_PAIRED_MODELS]]
    if len(scores) < 2:
        return pd.DataFrame()
    first, second = np.triu_indices(len(scores), 1)
    errors = grid.errors.select(scores)
    values = scores.to_numpy()
    differences = pd.DataFrame(values[first] - values[second], columns=scores.columns)
    stderrs = pd.DataFrame(errors.compute_difference_stderrs(first, second), columns=scores.columns)
    pairs = pd.DataFrame({"first": scores.index[first], "second": scores.index[second]})
    pairs = pairs.assign(protocol=grid.protocol, first_place=first + 1, second_place=second + 1)
    tests = {
        task: _add_test(pairs.assign(task=task), differences[task], stderrs[task])
        for task in scores
    }
    overall = _add_test(
        pairs.assign(task=OVERALL),
        differences.mean(axis=1),
        errors.compute_mean_difference_stderrs(first, second),
    )
    overall["tasks"] = differences.count(axis=1)
    for name, sign in (("won", 1), ("lost", -1)):
        overall[name] = sum(
            (test["p_holm"] < ALPHA) & (sign * test["difference"] > 0) for test in tests.values()
        )
    measured = [test.dropna(subset="difference") for test in tests.values()]
    return pd.concat([overall, *measured])


def _add_test(
    pairs: pd.DataFrame, difference: pd.Series, stderr: pd.Series | np.ndarray
) -> pd.DataFrame:
    """Add the z-test of each pair's difference, with p corrected over the pairs."""
    z, p = run_z_test(difference, stderr)
    return pairs.assign(difference=difference, stderr=stderr, z=z, p=p, p_holm=correct_by_holm(p))


@validate_call
def main(grid: Path, table: list[Path], settings: GridSettings) -> None:
    significance = compute_significance(read_grids(grid))
    is_best_pair = significance["second_place"] <= MAX_SHOWN_MODELS
    rows = significance[is_best_pair & (significance["task"] == OVERALL)]
    shown = {
        "Protocol": "{protocol}",
        "Higher": "{first}",
        "Lower": "{second}",
        "Tasks": "{tasks:.0f}",
        "Difference": "{difference:.2%} ± {stderr:.2%}",
        "z": "{z:.1f}",
        "p (Holm)": "{p_holm:p_value}",
        "Tasks won": "{won:.0f}",
        "Tasks lost": "{lost:.0f}",
    }
    title = "Which models differ"
    write_grid_table(significance, table, settings, title=title, note=_NOTE, shown=shown, rows=rows)


if "snakemake" in globals():
    run_job(main, snakemake)
