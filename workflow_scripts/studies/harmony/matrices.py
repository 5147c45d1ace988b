"""Figure: the agreement of every pair of tasks, in the order of their categories."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.settings.ranking import TasksRequest
from workflow_scripts.studies.harmony.agreement import TABLE
from workflow_scripts.studies.harmony.frame import PAIR
from workflow_scripts.studies.harmony.heatmaps import draw_matrices
from workflow_scripts.studies.harmony.labels import drawn_from


def write_matrices(table: pd.DataFrame, asked: TasksRequest, pdf: Path, png: Path) -> None:
    categories = list(dict.fromkeys(row.category for row in asked.tasks))
    pairs = table[table["statistic"] == PAIR]
    seen = set(pairs["first"]) | set(pairs["second"])
    ordered = sorted(
        (row for row in asked.tasks if row.task in seen),
        key=lambda row: categories.index(row.category),
    )
    draw_matrices(
        table=table,
        statistic=PAIR,
        names={row.task: row.display_name for row in ordered},
        cell=0.27,
        borders=[
            at for at in range(1, len(ordered)) if ordered[at].category != ordered[at - 1].category
        ],
        diagonal=False,
        pdf=pdf,
        png=png,
    )


FIGURE = Figure(name="harmony_matrices", asks=TasksRequest, draw=drawn_from(TABLE, write_matrices))
