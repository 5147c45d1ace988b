"""Two tasks of the config side by side: how they rank the models, by what differs significantly."""

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table
from workflow_scripts.settings.ranking import PairRequest, TasksRequest
from workflow_scripts.stats.partial_order import SIGNIFICANT
from workflow_scripts.studies.harmony.frame import FLOORED, RAW_AND_MISSING
from workflow_scripts.studies.harmony.grid import Grid, read_grids
from workflow_scripts.studies.harmony.labels import drawn_from
from workflow_scripts.studies.harmony.two_tasks import (
    COLUMNS,
    show_two_tasks,
    two_task_ranks,
    write_two_tasks,
)

NOTE = (
    "The two tasks of harmony.task_pair, over the models that have both. A model ranks above another"
    f" where its score is higher by more than {SIGNIFICANT} standard errors of the difference; in"
    " brackets the ranks that this order leaves a model. Among these its rank is chosen as alike on both"
    " tasks as the order allows, so that what differs between them differs significantly. A score"
    f" without a standard error is above or below none. {RAW_AND_MISSING}"
)


def harmony_task_pair(grids: dict[str, Grid], pair: tuple[str, ...]) -> pd.DataFrame:
    """A row per protocol, task of the pair and model; none where the config has a single task."""
    shown = {protocol: grid for protocol, grid in grids.items() if protocol != FLOORED}
    pair = pair or _first_two(shown)
    if len(pair) < 2:
        return two_task_ranks({}, ("", ""))
    return two_task_ranks(shown, (pair[0], pair[1]))


def _first_two(grids: dict[str, Grid]) -> tuple[str, ...]:
    """In the order of the tasks table, as the columns of a grid are."""
    measured = dict.fromkeys(task for grid in grids.values() for task in grid.measured)
    return tuple(measured)[:2]


def _make(inputs: Inputs, asked: PairRequest) -> pd.DataFrame:
    return harmony_task_pair(read_grids(inputs, asked), asked.pair)


TABLE = Table(
    name="harmony_task_pair",
    title="Two tasks side by side",
    note=NOTE,
    columns=COLUMNS,
    asks=PairRequest,
    make=_make,
    show=show_two_tasks,
)

FIGURE = Figure(
    name="harmony_task_pair", asks=TasksRequest, draw=drawn_from(TABLE, write_two_tasks)
)
