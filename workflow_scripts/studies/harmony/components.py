"""How much of all scores one number holds: the principal components of each protocol."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, say_empty
from workflow_scripts.render.frames import Columns
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import intervals, numbers, percents
from workflow_scripts.settings.ranking import RankingRequest, TasksRequest
from workflow_scripts.stats.principal import (
    bootstrapped_variance,
    component_loadings,
    component_names,
    principal_components,
)
from workflow_scripts.studies.harmony import frame, labels
from workflow_scripts.studies.harmony.grid import Grid, read_grids
from workflow_scripts.studies.harmony.leaderboard import ranked_scores

SHOWN = 6  # components in the figure
NOTE = (
    "Share of the variance of the standardised scores that each component has, with its 95% interval"
    " over models, for the models that have all tasks of the protocol. Even scores without anything in"
    " common give a first component of more than 1 / tasks, and two models always give one of 100%:"
    " read it beside the number of models. Loadings of the tasks are in the CSV."
    f" {frame.RAW_AND_MISSING}"
)
COLUMNS = Columns(
    {
        **frame.of_kind("text", "protocol origins"),
        **frame.of_kind("whole", "models tasks"),
        **frame.of_kind("text", "component"),
        **frame.of_kind("number", "share low high"),
    },
    like={frame.LOADING + frame.TASK_NAME: "number"},
)


def harmony_components(grids: dict[str, Grid], asked: RankingRequest) -> pd.DataFrame:
    """One row per protocol and component, with the loading of each task."""
    return pd.concat([_of_protocol(grid, asked) for grid in grids.values()], ignore_index=True)


def _of_protocol(grid: Grid, asked: RankingRequest) -> pd.DataFrame:
    scores = ranked_scores(grid)
    base: dict[str, Any] = {"protocol": grid.protocol, "origins": grid.origins}
    base |= {"models": len(scores), "tasks": scores.shape[1]}
    if len(scores) < 2 or not scores.shape[1]:
        none = {"component": "", "share": np.nan, "low": np.nan, "high": np.nan}
        return pd.DataFrame([base | none])
    shares = principal_components(scores).explained_variance_ratio
    interval = bootstrapped_variance(scores, draws=asked.draws, seed=asked.seed)
    ends = {end: interval[end].to_numpy() for end in ("low", "high")}
    table = pd.DataFrame(base | {"component": shares.index, "share": shares.to_numpy()} | ends)
    return table.join(component_loadings(scores).T.add_prefix(frame.LOADING), on="component")


def _show(table: pd.DataFrame, _: RankingRequest) -> pd.DataFrame:
    def percent(share: float) -> str:
        return f"{100 * share:.2f}"

    return pd.DataFrame(
        {
            "Protocol": table["protocol"].map(frame.PROTOCOLS),
            "Models": numbers(table["models"], "d"),
            "Tasks": numbers(table["tasks"], "d"),
            "Component": table["component"].replace("", None),
            "Share (%)": percents(table["share"], ".2f"),
            "Interval (%)": intervals(table["low"], table["high"], percent),
        }
    )


TABLE = Table(
    name="harmony_components",
    title="Principal components of the scores",
    note=NOTE,
    columns=COLUMNS,
    asks=RankingRequest,
    make=lambda inputs, asked: harmony_components(read_grids(inputs, asked), asked),
    show=_show,
)


def write_components_figure(table: pd.DataFrame, asked: TasksRequest, pdf: Path, png: Path) -> None:
    """Left the share of variance of the first components, right the tasks' loadings on the first."""
    table = table.dropna(subset=["share"])
    protocols = labels.shown_protocols(table)
    columns = [
        name for name in table if name.startswith(frame.LOADING) and table[name].notna().any()
    ]
    with labels.drawing(pdf, png, 9, 1.6 + 0.22 * max(len(columns), 9), ncols=2) as (fig, axes):
        if not protocols:
            for axis in axes:
                say_empty(axis, "Fewer than two models have all tasks of a protocol.")
        for _, rows, shift, look in labels.beside(table, gap=0.18):
            look["label"] += f", {rows['models'].iloc[0]} models"
            of = rows.head(SHOWN)
            ends = [100 * side for side in labels.reach(of["share"], of["low"], of["high"])]
            axes[0].errorbar(np.arange(len(of)) + shift, 100 * of["share"], yerr=ends, **look)
            down = np.arange(len(columns)) + shift
            axes[1].errorbar(of[columns].iloc[0], down, linestyle="none", **look)
        if protocols:
            axes[0].set_xticks(range(SHOWN), component_names(SHOWN))
            axes[0].set_ylim(0, 100)
            axes[0].set_ylabel("share of the variance, %")
            names = [asked.names[column.removeprefix(frame.LOADING)] for column in columns]
            axes[1].set_yticks(range(len(columns)), names, fontsize=8)
            axes[1].set_ylim(len(columns) - 0.4, -0.6)
            axes[1].axvline(0, color="0.6", linewidth=0.8)
            axes[1].set_xlabel("loading on PC1")
            for axis, direction in zip(axes, "yx", strict=True):
                labels.rule(axis, direction)
            fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


FIGURE = Figure(
    name="harmony_components",
    asks=TasksRequest,
    draw=labels.drawn_from(TABLE, write_components_figure),
)
