"""How much of all scores one number holds: the principal components of each protocol."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import drawing, legend_below, rule, say_empty
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import intervals, numbers, percents
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.stats.missing import Completed
from workflow_scripts.stats.principal import (
    component_loadings,
    component_names,
    explained_over_families,
    principal_components,
)
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

ALL = "all"  # the group of all models; others are families
SHOWN = 6  # components in the figure, and in the table that people read
_IMPUTED = 20  # draws of the scores that were estimated
_NOTE = (
    "Share of the variance of the standardised scores that each component has, with its 95% interval"
    " over families of models (over models where these are fewer than four), for the models that"
    " have all tasks, or enough to estimate the others: where scores are estimated the shares are means over"
    f" {_IMPUTED} draws within what the estimates leave open. Even scores without anything in"
    " common give a first component of more than 1 / tasks, and two models always give one of 100%:"
    " read it beside the number of models. The CSV has all components, and the loadings of the tasks.{release}{last}"
)


def compute_components(
    grids: dict[str, Grid],
    settings: GridSettings,
    seed: int,
    release: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row per protocol, group of models and component, with the loading of each task.

    `release` has the scores of the grid's second release.
    """
    families = pd.concat([grid.models["family"] for grid in grids.values()])
    families = families[~families.index.duplicated()]
    found = []
    for about, scores, completed in _list_parts(grids, settings, release):
        for group in (ALL, *settings.grid.families):
            of_scores = families.reindex(scores.index)
            chosen = scores[of_scores == group] if group != ALL else scores
            chosen = chosen.loc[:, chosen.nunique() > 1]
            of_group = of_scores[chosen.index]
            found.append(
                _compute_shares(about | {"group": group}, chosen, of_group, completed, seed)
            )
    table = pd.concat(found, ignore_index=True)
    loadings = [name for name in table if name.startswith(frame.LOADING)]
    return table[[*(name for name in table if name not in loadings), *loadings]]


def _list_parts(
    grids: dict[str, Grid], settings: GridSettings, release: pd.DataFrame | None
) -> Iterator[tuple[dict[str, str], pd.DataFrame, Completed | None]]:
    for grid in grids.values():
        about = {"release": grid.origins, "protocol": grid.protocol}
        yield about, grid.ranked, grid.completed
    second = settings.grid.release
    if second and release is not None:
        yield {"release": Path(second.file).stem, "protocol": second.protocol}, release, None


def _compute_shares(
    about: dict[str, str],
    scores: pd.DataFrame,
    families: pd.Series,
    completed: Completed | None,
    seed: int,
) -> pd.DataFrame:
    filled = int(completed.filled.loc[scores.index, scores.columns].sum().sum()) if completed else 0
    base = {**about, "models": len(scores), "tasks": scores.shape[1], "filled": filled}
    if len(scores) < 2 or not scores.shape[1]:
        return pd.DataFrame([base]).assign(component="", share=np.nan, low=np.nan, high=np.nan)
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
    table = interval.assign(**base, share=shares + moved).rename_axis("component").reset_index()
    return table.join(component_loadings(scores).T.add_prefix(frame.LOADING), on="component")


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    table = table[table["component"].isin(["", *component_names(SHOWN)])]
    second = settings.grid.release
    releases = {Path(second.file).stem: second.name} if second else {}
    return {
        "Scores": [releases.get(name, "all scores") for name in table["release"]],
        "Protocol": table["protocol"].map(settings.grid.names),
        "Models": numbers(table["models"], "d"),
        "Tasks": numbers(table["tasks"], "d"),
        "Cells estimated": numbers(table["filled"], "d"),
        "Of": table["group"].map(_name_group),
        "Component": table["component"].replace("", None),
        "Share (%)": percents(table["share"], ".2f"),
        "Interval (%)": intervals(table["low"], table["high"], lambda share: f"{100 * share:.2f}"),
    }


def _name_group(group: str) -> str:
    return "all families" if group == ALL else f"{group} alone"


def plot_components(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """The share of variance of the first components, of each group, and the tasks' loadings on the first."""
    table = table.dropna(subset=["share"])
    second = settings.grid.release
    if second:  # it would stand on the first
        table = table[table["release"] != Path(second.file).stem]
    groups = list(dict.fromkeys(table["group"])) or [ALL]
    columns = [
        name for name in table if name.startswith(frame.LOADING) and table[name].notna().any()
    ]
    size = 4.5 * (1 + len(groups)), 1.6 + 0.22 * max(len(columns), 9)
    table = table.rename(columns={"release": "origins"})
    with drawing(files, *size, ncols=1 + len(groups)) as (fig, axes):
        if table.empty:
            for axis in axes:
                say_empty(axis, "Fewer than two models are ranked under a protocol.")
            return
        for axis, group in zip(axes, groups, strict=False):
            of_group = table[table["group"] == group]
            _draw_shares(axis, of_group, settings)
            if len(groups) > 1:
                models = of_group["models"].iloc[0]
                axis.set_title(f"{models} models, {_name_group(group)}", fontsize=9)
        of_all = table[table["group"] == ALL]
        for _, rows, shift, look in plots.place_beside(of_all, settings.grid, gap=0.18):
            down = np.arange(len(columns)) + shift
            axes[-1].errorbar(rows[columns].iloc[0], down, linestyle="none", **look)
        axes[0].set_ylabel("share of the variance, %")
        names = [settings.names[column.removeprefix(frame.LOADING)] for column in columns]
        axes[-1].set_yticks(range(len(columns)), names, fontsize=8)
        axes[-1].set_ylim(len(columns) - 0.4, -0.6)
        axes[-1].axvline(0, color="0.6", linewidth=0.8)
        axes[-1].set_xlabel("loading on PC1")
        rule(axes[-1], "x")
        legend_below(fig, axes[0], 3)


def _draw_shares(axis, table: pd.DataFrame, settings: GridSettings) -> None:
    for _, rows, shift, look in plots.place_beside(table, settings.grid, gap=0.18):
        look["label"] += f", {rows['models'].iloc[0]} models"
        of = 100 * rows.head(SHOWN)[["share", "low", "high"]]
        ends = plots.measure_ends(of["share"], of["low"], of["high"])
        axis.errorbar(np.arange(len(of)) + shift, of["share"], yerr=ends, **look)
    shown = component_names(min(SHOWN, table["component"].nunique()))
    axis.set_xticks(range(len(shown)), shown)
    axis.set_ylim(0, 100)
    rule(axis, "y")


def main(
    cells: Path,
    models: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
    seed: int,
    release: Path | None = None,
) -> None:
    of_grid = GridSettings.of(settings)
    second = read_panel(release) if release else None
    components = compute_components(read_grids(cells, models), of_grid, seed, second)
    about = f" {of_grid.grid.release.about}" if of_grid.grid.release else ""
    note = _NOTE.format(release=about, last=frame.RAW_AND_MISSING * of_grid.grid.run)
    title = frame.make_title("Principal components of the scores", of_grid)
    shown = format_columns(components, of_grid)
    write_table(components, table, title=title, note=note, shown=shown)
    plot_components(components, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
