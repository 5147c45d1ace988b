"""The two releases of the published scores after training, task by task: how far another run is off."""

import numpy as np
import pandas as pd

from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.render.verdict import LIMIT
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.requests import GridRequest

PRINTED_TO = 1e-4  # of the leaderboard, as fractions
_CORRELATIONS = ("cola",)  # no error follows from the value, and the leaderboard prints none
NOTE = (
    "The authors released their scores after training twice: in the leaderboard of their README, and"
    " with direct scores and standard errors beside their notebook. Differing: cells that are not the"
    " same number within rounding; the furthest apart, in points. Apart: cells that lie more"
    f" than {LIMIT:.0f} standard errors of items apart, each run taken to have items of its own: both"
    " were asked the same, so that items explain less than that; CoLA is left out of it. Below"
    " direct: scores of the leaderboard that lie below the direct ones. The last line"
    " is of all tasks."
)
COLUMNS = columns(
    ("maybe", "task"),
    ("whole", "cells differing"),
    ("number", "furthest"),
    ("whole", "tested apart below_direct"),
)


def releases(grids: dict[str, Grid], request: GridRequest, second: pd.DataFrame) -> pd.DataFrame:
    """One row per task, and a last one of all."""
    assert request.grid.release is not None, "the registry makes it of grids that have one"
    grid = grids[request.grid.release.protocol]
    theirs = second.reindex_like(grid.values)
    off = theirs - grid.values
    differing = off.abs() > PRINTED_TO / 2 + 1e-12
    two_runs = np.sqrt(2) * grid.errors.items_alone  # as if each run had items of its own
    z = (off / two_runs).abs()
    z[[task for task in z if task in _CORRELATIONS]] = np.nan
    below = theirs < grids[request.grid.baseline].values - PRINTED_TO / 2
    counts = {
        "cells": off.notna().sum(),
        "differing": differing.sum(),
        "furthest": off.abs().max(),
        "tested": z.notna().sum(),
        "apart": (z > LIMIT).sum(),
        "below_direct": below.sum(),
    }
    table = pd.DataFrame(counts).rename_axis("task").reset_index()
    every = dict(table.drop(columns="task").sum()) | {
        "task": None,
        "furthest": table["furthest"].max(),
    }
    return COLUMNS.typed(pd.concat([table, pd.DataFrame([every])], ignore_index=True))


def _make(inputs: Inputs, request: GridRequest) -> pd.DataFrame:
    return releases(read_grids(inputs, request), request, read_panel(inputs.one("release")))


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    return {
        "Task": table["task"].map(request.names).fillna("all tasks"),
        "Cells": numbers(table["cells"], ",d"),
        "Differing": numbers(table["differing"], ",d"),
        "Furthest (points)": percents(table["furthest"]),
        "Tested": numbers(table["tested"], ",d"),
        "Apart": numbers(table["apart"], "d"),
        "Below direct": numbers(table["below_direct"], "d"),
    }


TABLE = Table(
    name="releases",
    title=frame.titled("Two releases of the same grid", "two releases of the same grid"),
    note=NOTE,
    columns=COLUMNS,
    asks=GridRequest,
    make=_make,
    show=_show,
)
