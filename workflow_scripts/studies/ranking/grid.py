"""A grid as one matrix per protocol: models by tasks, missing cells missing; for ranks they are estimated.

The script `build_grid` writes it, with what its scores are uncertain by, and every table reads it. In the grid of a run
other people's scores may stand beside ours, told apart by their origin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.core.files import atomic_path
from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.missing import Completed, complete
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking.frame import OWN


@dataclass(frozen=True)
class Grid:
    """One protocol. Rows are labels: the model's name, with its origin behind it if a run's is another."""

    protocol: str
    errors: ScoreErrors
    models: pd.DataFrame
    """By label: model, variant, origin, family, parameters, kind, and what else the grid knows of them."""
    absent: pd.DataFrame
    """By label and task, whether a score should be there and is not."""

    @property
    def values(self) -> pd.DataFrame:
        return self.errors.scores

    @cached_property
    def stderrs(self) -> pd.DataFrame:
        return self.errors.stderrs

    @property
    def origins(self) -> str:
        """Where the scores come from, ours first."""
        found = set(self.models.loc[self.values.notna().any(axis=1), "origin"])
        return " ".join(sorted(found, key=lambda origin: (origin != OWN, origin)))

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Values of the tasks that any model has a score on."""
        return self.values.dropna(axis=1, how="all")

    @cached_property
    def completed(self) -> Completed:
        """Those with what could be estimated of their missing cells, and of missing standard errors."""
        return complete(self.errors.part(self.measured))

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The scores that components are made of: missing ones estimated, tasks on which models differ at all."""
        scores = self.completed.errors.scores.dropna()
        return scores.loc[:, scores.nunique() > 1]


def write_grids(grids: Mapping[str, Grid], cells: Path, models: Path) -> None:
    """Write a row for each protocol, label and task, and one for each protocol and label."""
    tables = [
        pd.DataFrame(
            {
                "protocol": grid.protocol,
                "stream": grid.errors.stream,
                "label": grid.values.index,
                "task": task,
                "value": grid.values[task].to_numpy(),
                "shared": list(grid.errors.items[task].shared),
                "own": grid.errors.items[task].own,
                "training": grid.errors.training[task].to_numpy(),
                "absent": grid.absent[task].to_numpy(),
            }
        )
        for grid in grids.values()
        for task in grid.values
    ]
    about = [
        grid.models.rename_axis("label").reset_index().assign(protocol=grid.protocol)
        for grid in grids.values()
    ]
    for frames, path in ((tables, cells), (about, models)):
        with atomic_path(path) as temporary:
            pd.concat(frames, ignore_index=True).to_parquet(temporary)


def read_grids(cells: Path, models: Path) -> dict[str, Grid]:
    """Read the grid of each protocol."""
    scores, about = pd.read_parquet(cells), pd.read_parquet(models)
    grids = {}
    for protocol, of_models in about.groupby("protocol", sort=False):
        of_protocol = scores[scores["protocol"] == protocol]
        of_models = of_models.drop(columns="protocol").set_index("label").rename_axis(None)
        labels, tasks = of_models.index, of_protocol["task"].unique()
        items = {
            task: ItemErrors(np.stack(of_task["shared"].to_list()), of_task["own"].to_numpy())
            for task, of_task in of_protocol.groupby("task", sort=False)
        }
        value, training, absent = (
            of_protocol.pivot(index="label", columns="task", values=name)
            .reindex(index=labels, columns=tasks)
            .rename_axis(index=None, columns=None)
            for name in ("value", "training", "absent")
        )
        stream = int(of_protocol["stream"].max()) if len(of_protocol) else 0
        errors = ScoreErrors(value, items, training, stream)
        grids[str(protocol)] = Grid(str(protocol), errors, of_models, absent.astype(bool))
    return grids
