"""How much of all scores one number holds: the principal components of each protocol."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import drawing, legend_below, rule
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
_COLUMNS = [
    "component",
    "low",
    "high",
    "groups",
    "of",
    "release",
    "protocol",
    "group",
    "models",
    "tasks",
]
_COLUMNS += ["filled", "share"]
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
    """Compute a row per protocol, group of models and component, with the loading of each task.

    `release` has the scores of the grid's second release.
    """
    families = pd.concat([grid.models["family"] for grid in grids.values()])
    families = families[~families.index.duplicated()]
    parts: list[tuple[str, str, pd.DataFrame, Completed | None]] = [
        (grid.origins, grid.protocol, grid.ranked, grid.completed) for grid in grids.values()
    ]
    second = settings.grid.release
    if second and release is not None:
        parts.append((Path(second.file).stem, second.protocol, release, None))
    tables = []
    for origins, protocol, scores, completed in parts:
        of_scores = families.reindex(scores.index)
        for group in (ALL, *settings.grid.families):
            of_group = scores[of_scores == group] if group != ALL else scores
            of_group = of_group.loc[:, of_group.nunique() > 1]
            table = _compute_shares(of_group, of_scores[of_group.index], completed, seed)
            tables.append(table.assign(release=origins, protocol=protocol, group=group))
    table = pd.concat(tables, ignore_index=True)
    return table[[*_COLUMNS, *table.filter(like=frame.LOADING)]]


def _compute_shares(
    scores: pd.DataFrame, families: pd.Series, completed: Completed | None, seed: int
) -> pd.DataFrame:
    filled = int(completed.filled.loc[scores.index, scores.columns].sum().sum()) if completed else 0
    about = {"models": len(scores), "tasks": scores.shape[1], "filled": filled}
    if len(scores) < 2 or not scores.shape[1]:
        return pd.DataFrame([{"component": ""}], columns=_COLUMNS).assign(**about)
    shares = principal_components(scores).explained_variance_ratio
    interval, moved = explained_over_families(scores, families), 0.0
    if completed and filled:
        # What is expected of missing cells lies on fewer components than what would have been measured.
        drawn = [
            principal_components(draw.loc[scores.index, scores.columns]).explained_variance_ratio
            for draw in completed.imputed(_IMPUTED, seed)
        ]
        moved = pd.concat(drawn, axis=1).mean(axis=1) - shares
        for end in ("low", "high"):
            interval[end] = (interval[end] + moved).clip(0, 1)
    table = interval.assign(**about, share=shares + moved).rename_axis("component").reset_index()
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
    """Plot the share of variance of the first components, of each group of models."""
    table = table.dropna(subset=["share"])
    second = settings.grid.release
    if second:  # it would stand on the first
        table = table[table["release"] != Path(second.file).stem]
    groups = list(dict.fromkeys(table["group"])) or [ALL]
    with drawing(files, 4.5 * len(groups), 3.6, ncols=len(groups), squeeze=False) as (fig, (axes,)):
        for axis, group in zip(axes, groups, strict=True):
            of_group = table[table["group"] == group]
            for rows, shift, look in plots.place_beside(of_group, settings.grid, gap=0.18):
                first = rows.head(SHOWN)
                shares = 100 * first[["share", "low", "high"]]
                ends = plots.measure_ends(*(shares[name] for name in shares))
                axis.errorbar(np.arange(len(first)) + shift, shares["share"], yerr=ends, **look)
                axis.set_xticks(range(len(first)), first["component"])
            axis.set_title(f"{of_group['models'].max()} models, {_name_group(group)}", fontsize=9)
            axis.set_ylim(0, 100)
            rule(axis, "y")
        axes[0].set_ylabel("share of the variance, %")
        legend_below(fig, axes[0], 3)


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
