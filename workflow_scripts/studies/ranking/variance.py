"""Where the variance of a grid's scores lies, of all models and within sizes, and how many tasks a ranking needs."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import PALETTE, Figure, legend_below, say_empty
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.stats.variance import PARTS, RELIABLE, WANTED, of_rerun, variance_of
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.by_size import ALL, groups, keyed, largest_band, named_groups
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords

_NAMES = dict(zip(PARTS, ("model", "model and task together", "items", "training"), strict=True))
_ENOUGH = {f"tasks_{100 * wanted:.0f}": wanted for wanted in WANTED}
_TOLD = f"tasks_{100 * RELIABLE:.0f}"  # in prose and in the figure
_NOTE = (
    "Shares of the variance of the scores, each task standardised over the models of the row, by a two-way"
    " decomposition (method of moments). Model: what a model is better by on every task. Together: what a"
    " task thinks of a model beyond that, less what items and training explain; it is 0 where these two"
    " explain more. Items: from the standard errors, taken as each model's own, which is rather too much where"
    " all answer the same items. Training: from {training}; a dash where that is not known or there is none;"
    " what is not known is within the share of together. Reliability: how well the mean over"
    " these tasks would agree (as a"
    " correlation) with the mean over as many others of the kind. Tasks for: how many tasks the mean needs"
    " for that reliability."
)
_TRAININGS = {
    "seeds": "the spread of the seeds that a cell was trained with, within the mean over them",
    "release": "half of what two releases of the scores differ by, beyond a shift of a whole task or model",
    "published": "what the two published releases of other models say of their like",
    "unknown": "nothing, as no cell was trained twice",
}
COLUMNS = columns(
    ("text", "protocol origins group"),
    ("number", "smallest largest"),
    ("whole", "models tasks"),
    ("number", " ".join((*PARTS, "observed", "left", "reliability"))),
    ("whole", " ".join(_ENOUGH)),
)


def variance(
    grids: dict[str, Grid], request: GridRequest, second: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per protocol and group of models; `observed` is the model's component, `left` the rest of 1.

    `second` has the scores of the grid's second release.
    """
    release, rows = request.grid.release, []
    for grid in grids.values():
        again = second if release and release.protocol == grid.protocol else None
        for group in groups(grid):
            scores = grid.measured.loc[group.models]
            errors = grid.errors.part(scores)
            training = errors.training**2 if errors.training.to_numpy().any() else None
            if again is not None:
                training = of_rerun(scores, again)
            found = variance_of(scores, errors.items_alone, training)
            rows.append(
                {
                    **{"protocol": grid.protocol, "origins": grid.origins, "group": group.kind},
                    **{"smallest": group.smallest, "largest": group.largest},
                    **{"models": len(group.models), "tasks": found.tasks},
                    **found.shares,
                    **{"observed": found.model, "left": found.left},
                    "reliability": found.reliability(found.tasks),
                    **{name: found.tasks_for(wanted) for name, wanted in _ENOUGH.items()},
                }
            )
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _make(inputs: Inputs, request: GridRequest) -> pd.DataFrame:
    second = read_panel(inputs.one("release")) if request.grid.release else None
    return variance(read_grids(inputs, request), request, second)


def told(table: pd.DataFrame, study: str) -> Values:
    """For prose: the shares of all models and of the band with the most, and the tasks that a ranking needs."""
    parts = {"": keyed(table[table["group"] == ALL]), "within_": largest_band(table)}
    return {
        f"{study}.{row['key']}.{start}{name}": row[of]
        for start, rows in parts.items()
        for row in rows.to_dict("records")
        for name, of in {"enough_tasks": _TOLD, **{f"variance_{one}": one for one in PARTS}}.items()
    }


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Of": named_groups(table),
        "Models": numbers(table["models"], "d"),
        "Tasks": numbers(table["tasks"], "d"),
        **{f"{name.capitalize()} (%)": percents(table[of]) for of, name in _NAMES.items()},
        "Reliability": numbers(table["reliability"]),
        **{f"Tasks for {wanted:g}": numbers(table[of], ",d") for of, wanted in _ENOUGH.items()},
    }


def _note(_: pd.DataFrame, request: GridRequest) -> str:
    said = _NOTE.format(training=_TRAININGS[request.trainings])
    return f"{said} {frame.RAW_AND_MISSING}" if request.grid.run else said


TABLE = Table(
    name="variance",
    title=frame.titled("Where the variance of the scores lies", "where the variance lies"),
    note=_note,
    columns=COLUMNS,
    asks=GridRequest,
    make=_make,
    show=_show,
)


def write_variance(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """A bar a group and protocol, its parts beside one another; behind it the tasks that a ranking needs."""
    table = table[table["protocol"].isin(request.grid.drawn)].dropna(subset=["model"])
    table = table.assign(named=named_groups(table)).sort_values(
        "named", key=lambda column: column.map({name: at for at, name in enumerate(column.unique())}),
        kind="stable",
    )  # fmt: skip
    with labels.drawing(pdf, png, 6.5, 1.6 + 0.3 * max(len(table), 3)) as (fig, axes):
        if table.empty:
            say_empty(axes, "Too few models have scores on two tasks.")
            return
        groups_above = table["named"].ne(table["named"].shift()).cumsum() - 1
        down = np.arange(len(table)) + 0.5 * groups_above.to_numpy()
        begun = np.zeros(len(table))
        for (of, name), colour in zip(_NAMES.items(), PALETTE, strict=False):
            wide = 100 * table[of].fillna(0).to_numpy()
            axes.barh(down, wide, left=begun, color=colour, label=name, height=0.8)
            begun += wide
        for at, row in zip(down, table.to_dict("records"), strict=True):
            if pd.notna(row[_TOLD]):
                axes.text(101, at, f"{row[_TOLD]:,d}", va="center", fontsize=8)
        said = [
            f"{row['named']}, {request.grid.names[row['protocol']]}"
            for row in table.to_dict("records")
        ]
        axes.set_yticks(down, said, fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel(
            f"share of the variance, %; behind it the tasks for a reliability of {_ENOUGH[_TOLD]:g}"
        )
        legend_below(fig, axes, 4)


FIGURE = Figure(name="variance", asks=GridWords, draw=labels.drawn_from(TABLE, write_variance))
