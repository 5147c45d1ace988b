"""How much of all scores one number holds: the principal components of each protocol."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import intervals, numbers, percents
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.stats.missing import Completed
from workflow_scripts.stats.principal import (
    component_loadings,
    component_names,
    explained_over_families,
    principal_components,
)
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.leaderboard import ranked_scores
from workflow_scripts.studies.ranking.requests import GridWords, RankingRequest

ALL = "all"  # the group of all models; others are families
SHOWN = 6  # components in the figure, and in the table that people read of others' scores
_IMPUTED = 20  # draws of the scores that were estimated
_NOTE = (
    "Share of the variance of the standardised scores that each component has, with its 95% interval"
    " over families of models (over models where these are fewer than four), for the models that the"
    " leaderboard ranks. Where scores were missing they are estimated, and the shares are means over"
    f" {_IMPUTED} draws within what the estimates leave open. Even scores without anything in"
    " common give a first component of more than 1 / tasks, and two models always give one of 100%:"
    " read it beside the number of models. Loadings of the tasks are in the CSV."
    f" {frame.RAW_AND_MISSING}"
)
_NOTE_OF_OTHERS = (
    "Share of the variance of the standardised scores that each component has, with its 95% interval"
    " over families (over models where these are fewer than four){floored}.{release}"
    " The first components; the CSV has all, and the loadings of the tasks."
)
# Release and group belong to others' grids, origins and intervals to that of a run.
_ORDER = (
    "release",
    "protocol",
    "origins",
    "group",
    "models",
    "tasks",
    "filled",
    "component",
    "share",
    "low",
    "high",
    "groups",
    "of",
)
COLUMNS = columns(
    ("text", "protocol component"),
    ("whole", "models tasks filled"),
    ("number", "share"),
    like={
        "release|origins|group": "text",
        "groups": "whole",
        "of": "maybe",
        f"low|high|{frame.LOADING}{frame.TASK_NAME}": "number",
    },
)


def components(
    grids: dict[str, Grid], request: RankingRequest, release: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per protocol, group of models and component, with the loading of each task.

    `release` has the scores of the grid's second release.
    """
    families = pd.concat([grid.models["family"] for grid in grids.values()])
    families = families[~families.index.duplicated()]
    found = [
        _of_scores(about, scores, families.reindex(scores.index), completed, request.seed)
        for about, scores, completed in _parts(grids, request, families, release)
    ]
    table = pd.concat(found, ignore_index=True)
    loadings = [name for name in table if name.startswith(frame.LOADING)]
    return table[[*(name for name in _ORDER if name in table), *loadings]]


def _parts(
    grids: dict[str, Grid],
    request: RankingRequest,
    families: pd.Series,
    release: pd.DataFrame | None,
) -> Iterator[tuple[dict[str, str], pd.DataFrame, Completed | None]]:
    if request.grid.run:
        for grid in grids.values():
            about = {"protocol": grid.protocol, "origins": grid.origins}
            yield about, ranked_scores(grid), grid.completed
        return
    parts: list[tuple[str, str, pd.DataFrame, Completed | None]] = [
        (grid.origins, grid.protocol, ranked_scores(grid), grid.completed)
        for grid in grids.values()
    ]
    if request.grid.release and release is not None:
        name = Path(request.grid.release.file).stem
        parts.append((name, request.grid.release.protocol, release, None))
    for origin, protocol, scores, completed in parts:
        for group in (ALL, *request.grid.families):
            of = families.reindex(scores.index) == group if group != ALL else slice(None)
            differing = scores[of].loc[:, scores[of].nunique() > 1]
            yield {"release": origin, "protocol": protocol, "group": group}, differing, completed


def _of_scores(
    about: dict[str, str],
    scores: pd.DataFrame,
    families: pd.Series,
    completed: Completed | None,
    seed: int,
) -> pd.DataFrame:
    filled = int(completed.filled.loc[scores.index, scores.columns].sum().sum()) if completed else 0
    base = {**about, "models": len(scores), "tasks": scores.shape[1], "filled": filled}
    if len(scores) < 2 or not scores.shape[1]:
        none = {"component": "", **dict.fromkeys(("share", "low", "high"), np.nan)}
        return pd.DataFrame([base | none])
    shares = principal_components(scores).explained_variance_ratio
    interval, moved = explained_over_families(scores, families), 0.0
    if completed and filled:
        # What is expected of missing cells lies on fewer components than what would have been measured.
        drawn = [
            principal_components(one.loc[scores.index, scores.columns]).explained_variance_ratio
            for one in completed.imputed(_IMPUTED, seed)
        ]
        moved = pd.concat(drawn, axis=1).mean(axis=1) - shares
        for end in ("low", "high"):
            interval[end] = (interval[end] + moved).clip(0, 1)
    ends = {end: interval[end].to_numpy() for end in interval}
    shown = {"component": shares.index, "share": (shares + moved).to_numpy()}
    table = pd.DataFrame(base | shown | ends)
    return table.join(component_loadings(scores).T.add_prefix(frame.LOADING), on="component")


def _make(inputs: Inputs, request: RankingRequest) -> pd.DataFrame:
    release = read_panel(inputs.one("release")) if request.grid.release else None
    return components(read_grids(inputs, request), request, release)


def _show(table: pd.DataFrame, request: RankingRequest) -> ShownColumns:
    protocols, shares = request.grid.names, percents(table["share"], ".2f")
    table = table.assign(shown_share=shares, protocol=table["protocol"].map(protocols))
    ends = intervals(table["low"], table["high"], lambda share: f"{100 * share:.2f}")
    table = table.assign(shown_interval=ends)
    if request.grid.run:
        return {
            "Protocol": table["protocol"],
            "Models": numbers(table["models"], "d"),
            "Tasks": numbers(table["tasks"], "d"),
            "Cells estimated": numbers(table["filled"], "d"),
            "Component": table["component"].replace("", None),
            "Share (%)": table["shown_share"],
            "Interval (%)": table["shown_interval"],
        }
    table = table[table["component"].isin(component_names(SHOWN))]
    second = request.grid.release
    releases = {Path(second.file).stem: second.name} if second else {}
    return {
        "Scores": [releases.get(name, "all scores") for name in table["release"]],
        "Protocol": table["protocol"],
        "Models": numbers(table["models"], "d"),
        "Of": table["group"].map(_group),
        "Component": table["component"],
        "Share (%)": table["shown_share"],
        "Interval (%)": table["shown_interval"],
    }


def _group(group: str) -> str:
    return "all families" if group == ALL else f"{group} alone"


def _note(_: pd.DataFrame, request: RankingRequest) -> str:
    if request.grid.run:
        return _NOTE
    second, floored = request.grid.release, ""
    if request.grid.floor_said:
        floored = "; scores after training are floored by the direct ones"
    return _NOTE_OF_OTHERS.format(floored=floored, release=f" {second.about}" if second else "")


TABLE = Table(
    name="components",
    title=frame.titled("Principal components of the scores", "principal components"),
    note=_note,
    columns=COLUMNS,
    asks=RankingRequest,
    make=_make,
    show=_show,
)


def write_components_figure(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """The share of variance of the first components, of each group, and the tasks' loadings on the first."""
    table = table.dropna(subset=["share"])
    if "release" in table:  # a second one would stand on the first
        table = table[table["release"] == table["release"].iloc[0]]
    groups = list(dict.fromkeys(table["group"])) if "group" in table else [ALL]
    columns = [
        name for name in table if name.startswith(frame.LOADING) and table[name].notna().any()
    ]
    size = 4.5 * (1 + len(groups)), 1.6 + 0.22 * max(len(columns), 9)
    with labels.drawing(pdf, png, *size, ncols=1 + len(groups)) as (fig, axes):
        if table.empty:
            for axis in axes:
                say_empty(axis, "Fewer than two models are ranked under a protocol.")
            return
        for axis, group in zip(axes, groups, strict=False):
            of_group = table[table["group"] == group] if "group" in table else table
            _draw_shares(axis, of_group, request)
            if len(groups) > 1:
                models = of_group["models"].iloc[0]
                axis.set_title(f"{models} models, {_group(group)}", fontsize=9)
        of_all = table[table["group"] == ALL] if "group" in table else table
        for _, rows, shift, look in labels.beside(of_all, request.grid, gap=0.18):
            down = np.arange(len(columns)) + shift
            axes[-1].errorbar(rows[columns].iloc[0], down, linestyle="none", **look)
        axes[0].set_ylabel("share of the variance, %")
        names = [request.names[column.removeprefix(frame.LOADING)] for column in columns]
        axes[-1].set_yticks(range(len(columns)), names, fontsize=8)
        axes[-1].set_ylim(len(columns) - 0.4, -0.6)
        axes[-1].axvline(0, color="0.6", linewidth=0.8)
        axes[-1].set_xlabel("loading on PC1")
        labels.rule(axes[-1], "x")
        legend_below(fig, axes[0], 3)


def _draw_shares(axis, table: pd.DataFrame, request: GridWords) -> None:
    for _, rows, shift, look in labels.beside(table, request.grid, gap=0.18):
        look["label"] += f", {rows['models'].iloc[0]} models"
        of = rows.head(SHOWN)
        ends = {}
        if "low" in of:
            ends["yerr"] = [100 * side for side in labels.reach(of["share"], of["low"], of["high"])]
        axis.errorbar(np.arange(len(of)) + shift, 100 * of["share"], **ends, **look)
    shown = component_names(min(SHOWN, table["component"].nunique()))
    axis.set_xticks(range(len(shown)), shown)
    axis.set_ylim(0, 100)
    labels.rule(axis, "y")


FIGURE = Figure(
    name="components",
    asks=GridWords,
    draw=labels.drawn_from(TABLE, write_components_figure),
)
