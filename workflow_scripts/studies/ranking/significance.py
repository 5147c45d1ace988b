"""Which models differ by more than chance, on each task and over all of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, number, numbers, p_value
from workflow_scripts.render.words import LEVEL
from workflow_scripts.stats.significance import holm, z_test
from workflow_scripts.studies.ranking.frame import OVERALL, RAW_AND_MISSING
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

ALL_SHOWN = 10  # models of a protocol, up to which the readable table has every pair
ALL_PAIRS = 100  # and the CSV; of thousands of models that would be gigabytes
_NOTE = (
    "Difference of the mean score over the tasks that both models have, in percentage points, with its"
    " standard error, z and two-sided p; tasks won and lost count those on which the pair differs"
    f" significantly. Everywhere p is corrected by Holm's method over all pairs of models of a protocol"
    f" on one task (or on the mean), and significant is below {LEVEL}. The error is that of a difference"
    " on the same items, in clusters where a task has them, and of another training of each model where"
    f" that is known. Up to {ALL_SHOWN} models all pairs are shown, beyond that each model and the next"
    " lower by mean score. The CSV has every pair over all tasks and on single tasks up to"
    f" {ALL_PAIRS} models, beyond that these neighbours over all tasks alone, with p times the number of all"
    " pairs (Bonferroni's correction, which is never the smaller); `snakemake compare` compares any two."
    f" {RAW_AND_MISSING}"
)
_PAIR = ["protocol", "first", "second", "first_place", "second_place", "task"]
_TEST = ["difference", "stderr", "z", "p", "p_holm", "tasks", "won", "lost"]


def compute_significance(grids: dict[str, Grid]) -> pd.DataFrame:
    """Compute a row per protocol, pair of models and task, and one over all tasks of the pair.

    `first` is the model with the higher mean score.
    """
    tables = [table for grid in grids.values() for table in _compare_pairs(grid)]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return table.reindex(columns=[*_PAIR, *_TEST])


def _compare_pairs(grid: Grid) -> list[pd.DataFrame]:
    scores = grid.measured.dropna(how="all")
    scores = scores.loc[scores.mean(axis=1).sort_values(ascending=False, kind="stable").index]
    above, below = np.triu_indices(len(scores), 1)
    neighbours_alone = len(scores) > ALL_PAIRS
    if neighbours_alone:
        above, below = np.arange(len(scores) - 1), np.arange(1, len(scores))
    if not len(above):
        return []
    pair = {"protocol": grid.protocol, "first": scores.index[above], "second": scores.index[below]}
    pair |= {"first_place": above + 1, "second_place": below + 1}
    known = grid.errors.part(scores)
    differences = scores.iloc[above].reset_index(drop=True)
    differences -= scores.iloc[below].reset_index(drop=True)
    errors = pd.DataFrame(known.of_differences(above, below), columns=scores.columns)
    errors.insert(0, OVERALL, known.of_mean_differences(above, below))
    differences.insert(0, OVERALL, differences.mean(axis=1))
    tables = []
    for task, difference in differences.items():
        z, p = z_test(difference, errors[task])
        corrected = holm(p)
        if neighbours_alone:  # by Bonferroni's method over all pairs of as many models
            models = len(scores) if task == OVERALL else scores[task].count()
            corrected = np.minimum(p * models * (models - 1) / 2, 1)
        test = {"difference": difference, "stderr": errors[task], "z": z, "p": p}
        tables.append(pd.DataFrame(pair).assign(task=task, **test, p_holm=corrected))
    overall, *of_tasks = tables
    differ = [table["p_holm"] < LEVEL for table in of_tasks]
    overall["tasks"] = differences.drop(columns=OVERALL).count(axis=1)
    for name, sign in (("won", 1), ("lost", -1)):
        overall[name] = sum(
            significant & (sign * table["difference"] > 0)
            for significant, table in zip(differ, of_tasks, strict=True)
        )
    if neighbours_alone:
        return [overall]
    return [overall, *(table.dropna(subset=["difference"]) for table in of_tasks)]


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    table = table[table["task"] == OVERALL]
    models = table.groupby("protocol")["second_place"].transform("max")
    neighbours = table["second_place"] == table["first_place"] + 1
    table = table[(models <= ALL_SHOWN) | neighbours]
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Higher": table["first"],
        "Lower": table["second"],
        "Tasks": numbers(table["tasks"], ".0f"),
        "Difference": format_with_errors(
            100 * table["difference"], 100 * table["stderr"], lambda value: number(value, ".2f")
        ),
        "z": numbers(table["z"], ".1f"),
        "p (Holm)": list(map(p_value, table["p_holm"])),
        "Tasks won": numbers(table["won"], ".0f"),
        "Tasks lost": numbers(table["lost"], ".0f"),
    }


def main(cells: Path, models: Path, table: list[Path], settings: dict[str, Any]) -> None:
    significance = compute_significance(read_grids(cells, models))
    shown = format_columns(significance, GridSettings.of(settings))
    write_table(significance, table, title="Which models differ", note=_NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
