"""Where the variance of a grid's scores lies, of all models and within sizes, and how many tasks a ranking needs."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import PALETTE, drawing, legend_below
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.stats.variance import PARTS, RELIABLE, WANTED, of_rerun, variance_of
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement_by_size import (
    ALL,
    add_keys,
    find_largest_band,
    group_models,
    name_groups,
)
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

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
    " for that reliability.{last}"
)
_TRAININGS = {
    "seeds": "the spread of the seeds that a cell was trained with, within the mean over them",
    "release": "half of what two releases of the scores differ by, beyond a shift of a whole task or model",
    "published": "what the two published releases of other models say of their like",
    "unknown": "nothing, as no cell was trained twice",
}


def compute_variance(
    grids: dict[str, Grid], settings: GridSettings, second: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per protocol and group of models; `observed` is the model's component, `left` the rest of 1.

    `second` has the scores of the grid's second release.
    """
    release, rows = settings.grid.release, []
    for grid in grids.values():
        for group in group_models(grid):
            scores = grid.measured.loc[group.models]
            errors = grid.errors.part(scores)
            training = errors.training**2 if errors.training.to_numpy().any() else None
            if second is not None and release and release.protocol == grid.protocol:
                training = of_rerun(scores, second)
            found = variance_of(scores, errors.items_alone, training)
            about = {
                "protocol": grid.protocol,
                "origins": grid.origins,
                "group": group.kind,
                "smallest": group.smallest,
                "largest": group.largest,
                "models": len(group.models),
                "tasks": found.tasks,
                "observed": found.model,
                "left": found.left,
                "reliability": found.reliability(found.tasks),
            }
            enough = {name: found.tasks_for(wanted) for name, wanted in _ENOUGH.items()}
            rows.append(about | found.shares | enough)
    return pd.DataFrame(rows)


def tell_variance(table: pd.DataFrame, study: str) -> Values:
    """For prose: the shares of all models and of the band with the most, and the tasks that a ranking needs."""
    parts = {"": add_keys(table[table["group"] == ALL]), "within_": find_largest_band(table)}
    return {
        f"{study}.{row['key']}.{start}{name}": row[of]
        for start, rows in parts.items()
        for row in rows.to_dict("records")
        for name, of in {"enough_tasks": _TOLD, **{f"variance_{one}": one for one in PARTS}}.items()
    }


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Of": name_groups(table),
        "Models": numbers(table["models"], "d"),
        "Tasks": numbers(table["tasks"], "d"),
        **{f"{name.capitalize()} (%)": percents(table[of]) for of, name in _NAMES.items()},
        "Reliability": numbers(table["reliability"]),
        **{f"Tasks for {wanted:g}": numbers(table[of], ",.0f") for of, wanted in _ENOUGH.items()},
    }


def plot_variance(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a bar per group and protocol, its parts beside one another; behind it the tasks that a ranking needs."""
    table = table[table["protocol"].isin(settings.grid.drawn)].dropna(subset=["model"])
    table = table.sort_values(["group", "smallest"], kind="stable")
    names = pd.Series(name_groups(table)) + ", "
    with drawing(files, 6.5, 1.6 + 0.3 * max(len(table), 3)) as (fig, axes):
        down, begun = np.arange(len(table)), np.zeros(len(table))
        for (of, name), colour in zip(_NAMES.items(), PALETTE, strict=False):
            wide = 100 * table[of].fillna(0).to_numpy()
            axes.barh(down, wide, left=begun, color=colour, label=name, height=0.8)
            begun += wide
        for at, enough in zip(down, numbers(table[_TOLD], ",.0f"), strict=True):
            axes.text(101, at, enough or "", va="center", fontsize=8)
        protocols = table["protocol"].map(settings.grid.names)
        axes.set_yticks(down, names.to_numpy() + protocols.to_numpy(), fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        reliability = f"behind it the tasks for a reliability of {RELIABLE:g}"
        axes.set_xlabel(f"share of the variance, %; {reliability}")
        legend_below(fig, axes, 4)


def main(
    cells: Path,
    models: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
    release: Path | None = None,
) -> None:
    of_grid = GridSettings.of(settings)
    second = read_panel(release) if release else None
    variance = compute_variance(read_grids(cells, models), of_grid, second)
    note = _NOTE.format(
        training=_TRAININGS[of_grid.trainings], last=frame.RAW_AND_MISSING * of_grid.grid.run
    )
    title = frame.make_title("Where the variance of the scores lies", of_grid)
    write_table(variance, table, title=title, note=note, shown=format_columns(variance, of_grid))
    plot_variance(variance, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
