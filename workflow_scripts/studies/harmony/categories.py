"""Figure: the agreement of tasks by their categories, on the diagonal within each."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import figure_of
from workflow_scripts.studies.harmony.agreement import TABLE
from workflow_scripts.studies.harmony.frame import CATEGORY
from workflow_scripts.studies.harmony.matrices import draw_matrices


def write_categories(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    rows = table[table["statistic"] == CATEGORY]
    draw_matrices(
        table=table,
        statistic=CATEGORY,
        names={
            name: name.replace(" ", "\n", 1)
            for name in dict.fromkeys([*rows["first"], *rows["second"]])
        },
        cell=0.62,
        borders=[],
        diagonal=True,
        pdf=pdf,
        png=png,
    )


FIGURE = figure_of(TABLE, write_categories, "harmony_categories")
