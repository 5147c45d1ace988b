"""Read a grid: one matrix of models by tasks per protocol; missing cells are NaN, and estimated for ranks.

The script `build_grid` writes it with the errors of its scores, and the script of every table reads it. A run's grid
may contain imported scores, distinguished by their origin.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.missing import Completed, complete_scores
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking.grid_tables import OWN

# Columns of the file besides label, protocol and attributes of the model.
CELL_COLUMNS = ["task", "value", "training", "absent", "shared", "own", "stream", "n", "baseline"]


@dataclass(frozen=True)
class Grid:
    """One protocol of a grid. Rows are labels: the model's name, in a run's grid with the origin of imported scores."""

    protocol: str
    errors: ScoreErrors
    """The scores, with models in rows and tasks in columns, and their errors."""
    models: pd.DataFrame
    """By label: model, variant, origin, family, parameters, kind, and further attributes."""
    absent: pd.DataFrame
    """By label and task, whether a requested score is missing."""
    baselines: pd.DataFrame
    """By task with scores of this run, the score without any knowledge (`baseline`) and the number of items (`n`)."""

    @property
    def scores(self) -> pd.DataFrame:
        return self.errors.scores

    @cached_property
    def stderrs(self) -> pd.DataFrame:
        return self.errors.stderrs

    @property
    def origins(self) -> str:
        """Return the origins of the scores, ours first, separated by spaces."""
        origins = set(self.models.loc[self.scores.notna().any(axis=1), "origin"])
        return " ".join(sorted(origins, key=lambda origin: (origin != OWN, origin)))

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Return the scores on the tasks with at least one score."""
        return self.scores.dropna(axis=1, how="all")

    @cached_property
    def completed(self) -> Completed:
        """Return the measured scores with estimates for missing cells and missing standard errors."""
        return complete_scores(self.errors.select(self.measured))

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """Return the completed scores of the models that have or get all, on tasks on which they differ."""
        scores = self.completed.errors.scores.dropna()
        return scores.loc[:, scores.nunique() > 1]


Grids = dict[str, Grid]  # by protocol


def split_table(table: pd.DataFrame) -> Grids:
    """Build the grid of each protocol from the table of `build_grid`."""
    grids: Grids = {}
    for protocol, rows in table.groupby("protocol", sort=False):
        models = rows.drop_duplicates("label").set_index("label").rename_axis(None)
        cells = rows.dropna(subset="task")
        item_errors = {
            str(task): ItemErrors(np.stack(errors["shared"].to_list()), errors["own"].to_numpy())
            for task, errors in cells.groupby("task", sort=False)
        }
        scores, training_sd, absent = (
            cells.pivot(index="label", columns="task", values=name)
            .reindex(index=models.index, columns=list(item_errors))
            .rename_axis(index=None, columns=None)
            for name in ("value", "training", "absent")
        )
        stream = int(cells["stream"].max()) if len(cells) else 0
        errors = ScoreErrors(scores, item_errors, training_sd, stream)
        own = cells[cells["origin"] == OWN].dropna(subset="baseline").drop_duplicates("task")
        grids[str(protocol)] = Grid(
            protocol=str(protocol),
            errors=errors,
            models=models.drop(columns=["protocol", *CELL_COLUMNS]),
            absent=absent.astype(bool),
            baselines=own.set_index("task")[["baseline", "n"]].astype(float),
        )
    return grids


def read_grids(path: Path) -> Grids:
    """Read the grid of each protocol."""
    table = pd.read_parquet(path)
    # A file of an older version has fewer columns.
    return split_table(table.reindex(columns=table.columns.union(CELL_COLUMNS, sort=False)))
