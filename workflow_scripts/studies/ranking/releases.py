"""The two releases of the published scores after training, task by task: how far another run is off."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.render.verdict import LIMIT
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

PRINTED_TO = 1e-4  # of the leaderboard, as fractions
_CORRELATIONS = ("cola",)  # no error follows from the value, and the leaderboard prints none
_NOTE = (
    "The authors released their scores after training twice: in the leaderboard of their README, and"
    " with direct scores and standard errors beside their notebook. Differing: cells that are not the"
    " same number within rounding; the furthest apart, in points. Apart: cells that lie more"
    f" than {LIMIT:.0f} standard errors of items apart, each run taken to have items of its own: both"
    " were asked the same, so that items explain less than that; CoLA is left out of it. Below"
    " direct: scores of the leaderboard that lie below the direct ones. The last line"
    " is of all tasks."
)


def compare_releases(
    grids: dict[str, Grid], settings: GridSettings, second: pd.DataFrame
) -> pd.DataFrame:
    """One row per task, and a last one of all."""
    assert settings.grid.release is not None, "the rule is for grids that have one"
    grid = grids[settings.grid.release.protocol]
    theirs = second.reindex_like(grid.values)
    off = theirs - grid.values
    differing = off.abs() > PRINTED_TO / 2 + 1e-12
    two_runs = np.sqrt(2) * grid.errors.items_alone  # as if each run had items of its own
    z = (off / two_runs).abs()
    z[[task for task in z if task in _CORRELATIONS]] = np.nan
    below = theirs < grids[settings.grid.baseline].values - PRINTED_TO / 2
    counts = {
        "cells": off.notna().sum(),
        "differing": differing.sum(),
        "furthest": off.abs().max(),
        "tested": z.notna().sum(),
        "apart": (z > LIMIT).sum(),
        "below_direct": below.sum(),
    }
    table = pd.DataFrame(counts).rename_axis("task").reset_index()
    every = dict(table.drop(columns="task").sum()) | {"furthest": table["furthest"].max()}
    table = pd.concat([table, pd.DataFrame([every])], ignore_index=True)
    return table.astype(dict.fromkeys(counts.keys() - {"furthest"}, int))


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    return {
        "Task": table["task"].map(settings.names).fillna("all tasks"),
        "Cells": numbers(table["cells"], ",.0f"),
        "Differing": numbers(table["differing"], ",.0f"),
        "Furthest (points)": percents(table["furthest"]),
        "Tested": numbers(table["tested"], ",.0f"),
        "Apart": numbers(table["apart"], ".0f"),
        "Below direct": numbers(table["below_direct"], ".0f"),
    }


def main(
    cells: Path,
    models: Path,
    release: Path,
    table: list[Path],
    settings: dict[str, Any],
) -> None:
    of_grid = GridSettings.of(settings)
    releases = compare_releases(read_grids(cells, models), of_grid, read_panel(release))
    title = frame.make_title("Two releases of the same grid", of_grid)
    shown = format_columns(releases, of_grid)
    write_table(releases, table, title=title, note=_NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
