"""A grid: one matrix of models by tasks per protocol; missing cells are NaN, and estimated for ranks.

The script `build_grid` writes it with the errors of its scores, and every table reads it. A run's grid may contain
imported scores, distinguished by their origin.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.missing import Completed, complete
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking.frame import OWN

_CELL = ["task", "value", "training", "absent", "shared", "own", "stream"]


@dataclass(frozen=True)
class Grid:
    """One protocol of a grid. Rows are labels: the model's name, with the origin appended for imported scores."""

    protocol: str
    errors: ScoreErrors
    models: pd.DataFrame
    """By label: model, variant, origin, family, parameters, kind, and further attributes."""
    absent: pd.DataFrame
    """By label and task, whether a requested score is missing."""

    @property
    def values(self) -> pd.DataFrame:
        return self.errors.scores

    @cached_property
    def stderrs(self) -> pd.DataFrame:
        return self.errors.stderrs

    @property
    def origins(self) -> str:
        """Return the origins of the scores, ours first."""
        origins = set(self.models.loc[self.values.notna().any(axis=1), "origin"])
        return " ".join(sorted(origins, key=lambda origin: (origin != OWN, origin)))

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Return the values of the tasks with at least one score."""
        return self.values.dropna(axis=1, how="all")

    @cached_property
    def completed(self) -> Completed:
        """Return the measured values with estimates for missing cells and missing standard errors."""
        return complete(self.errors.part(self.measured))

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """Return the scores for principal components, with estimates, on tasks on which models differ."""
        scores = self.completed.errors.scores.dropna()
        return scores.loc[:, scores.nunique() > 1]


Grids = dict[str, Grid]  # by protocol


def write_grids(grids: Grids, path: Path) -> None:
    """Write one row per protocol, label and task, and one per label without a task, with the model's attributes."""
    tables = []
    for protocol, grid in grids.items():
        models = grid.models.assign(protocol=protocol)
        tables.append(models)
        for task, errors in grid.errors.items.items():
            cells = models.assign(
                task=task,
                value=grid.values[task],
                training=grid.errors.training[task],
                absent=grid.absent[task],
                shared=list(errors.shared),
                own=errors.own,
                stream=grid.errors.stream,
            )
            tables.append(cells)
    with open_atomic_path(path) as temporary:
        pd.concat(tables).rename_axis("label").reset_index().to_parquet(temporary)


def read_grids(path: Path) -> Grids:
    """Read the grid of each protocol."""
    table = pd.read_parquet(path)
    table = table.reindex(columns=table.columns.union(_CELL, sort=False))  # if there are no scores
    grids: Grids = {}
    for protocol, rows in table.groupby("protocol", sort=False):
        models = rows[rows["task"].isna()].drop(columns=["protocol", *_CELL])
        models = models.set_index("label").rename_axis(None)
        cells = rows.dropna(subset="task")
        items = {
            task: ItemErrors(np.stack(errors["shared"].to_list()), errors["own"].to_numpy())
            for task, errors in cells.groupby("task", sort=False)
        }
        value, training, absent = (
            cells.pivot(index="label", columns="task", values=name)
            .reindex(index=models.index, columns=list(items))
            .rename_axis(index=None, columns=None)
            for name in ("value", "training", "absent")
        )
        stream = int(cells["stream"].max()) if len(cells) else 0
        errors = ScoreErrors(value, items, training, stream)
        grids[str(protocol)] = Grid(str(protocol), errors, models, absent.astype(bool))
    return grids
