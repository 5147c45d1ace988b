"""Two question-answering tasks side by side: how they rank the published models, directly and after training."""

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table
from workflow_scripts.settings.ranking import GridRequest, TasksRequest
from workflow_scripts.stats.partial_order import SIGNIFICANT
from workflow_scripts.studies.harmony.labels import drawn_from
from workflow_scripts.studies.harmony.two_tasks import (
    COLUMNS,
    show_two_tasks,
    two_task_ranks,
    write_two_tasks,
)
from workflow_scripts.studies.published.cells import BOTH, published_grids

TASKS = ("nq_open", "arc_challenge")
NOTE = (
    "Published scores with their standard errors. A model ranks above another where its score is"
    f" higher by more than {SIGNIFICANT} standard errors of the difference; in brackets the ranks that"
    " this order leaves a model. Among these its rank is chosen as alike on both tasks as the order"
    " allows, so that what differs between them differs significantly."
)


def _make(inputs: Inputs, asked: GridRequest) -> pd.DataFrame:
    grids = published_grids(inputs, asked)
    return two_task_ranks({protocol: grids[protocol] for protocol in BOTH}, TASKS)


TABLE = Table(
    name="published_ranks",
    title="Published scores: NQ-Open beside ARC-Challenge",
    note=NOTE,
    columns=COLUMNS,
    asks=GridRequest,
    make=_make,
    show=show_two_tasks,
)
FIGURE = Figure(name="published_ranks", asks=TasksRequest, draw=drawn_from(TABLE, write_two_tasks))
