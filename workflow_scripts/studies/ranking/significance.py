"""Which models differ by more than chance, on each task and over all of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import number, numbers, p_value, with_errors
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
    " pairs (Bonferroni's correction, which is never the smaller); `snakemake separate` compares any two."
    f" {RAW_AND_MISSING}"
)
_PAIR = ["protocol", "first", "second", "first_place", "second_place", "task"]
_TEST = ["difference", "stderr", "z", "p", "p_holm", "tasks", "won", "lost"]


def compute_significance(grids: dict[str, Grid]) -> pd.DataFrame:
    """One row per protocol, pair of models and task, and one over all tasks of the pair.

    `first` is the model with the higher mean score.
    """
    tables = [_of_protocol(grid) for grid in grids.values()]
    return pd.concat([t for t in tables if len(t)] or tables[:1], ignore_index=True)


def _of_protocol(grid: Grid) -> pd.DataFrame:
    scores = grid.measured.dropna(how="all")
    scores = scores.loc[scores.mean(axis=1).sort_values(ascending=False, kind="stable").index]
    above, below = np.triu_indices(len(scores), 1)
    if alone := len(scores) > ALL_PAIRS:
        above, below = np.arange(len(scores) - 1), np.arange(1, len(scores))
    if not len(above):
        return pd.DataFrame(columns=[*_PAIR, *_TEST])
    pair = pd.DataFrame(
        {
            **{"protocol": grid.protocol},
            **{"first": scores.index[above], "second": scores.index[below]},
            **{"first_place": above + 1, "second_place": below + 1},
        }
    )
    differences = scores.to_numpy()[above] - scores.to_numpy()[below]
    known = grid.errors.part(scores)
    errors = known.of_differences(above, below)
    tested = ~np.isnan(differences)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(differences, axis=1) / tested.sum(axis=1)
    overall = _tested(mean, known.of_mean_differences(above, below), len(scores) if alone else 0)
    overall = overall.assign(task=OVERALL, tasks=tested.sum(axis=1))
    tables, won, lost = [], np.zeros(len(above)), np.zeros(len(above))
    for at, task in enumerate(scores):
        count = int(scores[task].notna().sum()) if alone else 0
        found = _tested(differences[:, at], errors[:, at], count)
        won += (found["p_holm"] < LEVEL) & (found["difference"] > 0)
        lost += (found["p_holm"] < LEVEL) & (found["difference"] < 0)
        of_task = pair.join(found.assign(task=task))
        if not alone:
            tables.append(of_task.dropna(subset=["difference"]))
    tables.insert(0, pair.join(overall).assign(won=won, lost=lost))
    return pd.concat(tables, ignore_index=True).reindex(columns=[*_PAIR, *_TEST])


def _tested(difference: np.ndarray, stderr: np.ndarray, models: int) -> pd.DataFrame:
    """By Holm's method over these pairs, or where these are not all by Bonferroni's over those of so many models."""
    z, p = z_test(difference, stderr)
    corrected = np.minimum(p * models * (models - 1) / 2, 1) if models else holm(p)
    found = {"difference": difference, "stderr": stderr, "z": z, "p": p, "p_holm": corrected}
    return pd.DataFrame(found)


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
        "Difference": with_errors(
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
