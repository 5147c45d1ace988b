"""Compare two releases of the same scores after training, task by task."""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.verdict import DIFFERENCE_Z
from workflow_scripts.scores.published_leaderboard import read_wide_scores
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import write_grid_table

PRINTED_TO = 1e-4  # resolution of the leaderboard's scores, as fractions
_NOTE = (
    "The authors released their scores after training twice: in the leaderboard of their README, and"
    " with direct scores and standard errors beside their notebook. Differing: cells that are not the"
    " same number within rounding; the furthest apart, in points. Apart: cells that lie more"
    f" than {DIFFERENCE_Z:.0f} standard errors of items apart, each run taken to have items of its own: both"
    " were asked the same, so that items explain less than that; CoLA is left out of it. Below"
    " direct: scores of the leaderboard that lie below the direct ones. The last line"
    " is of all tasks."
)


def compare_releases(first: Grid, second: pd.DataFrame, direct: pd.DataFrame) -> pd.DataFrame:
    """Compute one row per task, and a last row over all tasks; `direct` has the scores without training."""
    second = second.reindex_like(first.scores)
    distances = (second - first.scores).abs()
    z = distances / (np.sqrt(2) * first.errors.item_stderrs)  # as if the runs had independent items
    # The error of a correlation does not follow from its value, and the leaderboard prints none.
    z.loc[:, z.columns == "cola"] = np.nan
    table = pd.DataFrame(
        {
            "cells": distances.count(),
            "differing": (distances > PRINTED_TO / 2 + 1e-12).sum(),
            "furthest": distances.max(),
            "tested": z.count(),
            "apart": (z > DIFFERENCE_Z).sum(),
            "below_direct": (second < direct - PRINTED_TO / 2).sum(),
        }
    )
    table = table.rename_axis("task").reset_index()
    total = table.sum(numeric_only=True).astype(int).to_dict()
    total["furthest"] = table["furthest"].max()
    return pd.concat([table, pd.DataFrame([total])], ignore_index=True)


@validate_call
def main(grid: Path, release: Path, table: list[Path], settings: GridSettings) -> None:
    grids = read_grids(grid)
    assert settings.release is not None, "the rule is for grids that have one"
    first = grids[settings.release.protocol]
    direct = grids[settings.reference_protocol].scores
    releases = compare_releases(first, read_wide_scores(release), direct)
    shown = {
        "Task": releases["task"].map(settings.task_names).fillna("all tasks"),
        "Cells": "{cells:,.0f}",
        "Differing": "{differing:,.0f}",
        "Furthest (points)": "{furthest:.1%}",
        "Tested": "{tested:,.0f}",
        "Apart": "{apart:.0f}",
        "Below direct": "{below_direct:.0f}",
    }
    title = "Two releases of the same grid"
    write_grid_table(releases, table, settings, title=title, note=_NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
