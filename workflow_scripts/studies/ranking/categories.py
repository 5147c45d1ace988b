"""The agreement of tasks by their categories, and within each; of a run's grid it is a figure alone."""

import re
from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.settings.tables import CATEGORIES
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement import TABLE as AGREEMENT
from workflow_scripts.studies.ranking.agreement import by_category, correlations
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.matrices import draw_matrices, with_means
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords

COLUMNS = columns(
    ("text", "protocol measure first second"), ("number", "value"), ("whole", "pairs")
)


def categories(grids: dict[str, Grid], request: GridRequest) -> pd.DataFrame:
    """One row per protocol, measure and pair of categories, in their order."""
    rows = [
        (grid.protocol, measure, *found)
        for grid in grids.values()
        for measure in request.grid.measures
        for found in by_category(correlations(grid.measured, measure), request)
    ]
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    about = ["measure", "first", "second", "pairs"]
    wide = table.pivot(index=about, columns="protocol", values="value")
    wide = wide.loc[list(table[about].drop_duplicates().itertuples(index=False, name=None))]
    rows = wide.reset_index()
    within, names = rows["first"] == rows["second"], request.grid.names
    return {
        "Measure": rows["measure"].map(frame.MEASURES),
        "Categories": ("within " + rows["first"]).where(
            within, rows["first"] + " and " + rows["second"]
        ),
        "Pairs": numbers(rows["pairs"], "d"),
        **{name: numbers(rows[key]) for key, name in names.items() if key in rows},
    }


def _note(table: pd.DataFrame, request: GridRequest) -> str:
    numbers_of_pairs = table.groupby(["measure", "first", "second"])["pairs"].nunique()
    apart = " Protocols that have other numbers of pairs stand in rows of their own."
    models = f" of {request.grid.models} models" if request.grid.models else ""
    return (
        "Mean agreement over pairs of different tasks, one of each category; within: both of one category."
        f" From the {request.grid.called}{models}.{apart if numbers_of_pairs.gt(1).any() else ''}"
    )


TABLE = Table(
    name="categories",
    title=frame.titled("Agreement by category", "agreement by category"),
    note=_note,
    columns=COLUMNS,
    asks=GridRequest,
    make=lambda inputs, request: categories(read_grids(inputs, request), request),
    show=_show,
)


def write_categories(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """Of the table of categories, or of that of agreement, which has the means over all pairs as well."""
    if "statistic" in table:
        rows = table[table["statistic"] == frame.CATEGORY]
        said = with_means(table, rows, request.grid)
    else:
        rows, said = table[table["measure"] == "kendall"], request.grid.names
    found = set(rows["first"]) | set(rows["second"])
    ordered = [name for name in request.grid.categories or CATEGORIES if name in found]
    draw_matrices(
        rows,
        said,
        request.grid,
        names={name: re.sub(r"(?<=/)| ", "\n", name) for name in ordered},  # a word a line
        cell=0.72,
        label="mean of Kendall's tau-b over pairs of different tasks",
        files=(pdf, png),
    )


FIGURE = Figure(
    name="categories",
    asks=GridWords,
    draw=lambda inputs, request, pdf, png: write_categories(
        (AGREEMENT if request.grid.run else TABLE).read(inputs.one("table")), request, pdf, png
    ),
)
