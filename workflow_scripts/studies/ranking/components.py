"""Compute the principal components of each protocol's scores, and the variance that they explain."""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_grid_lines, draw_legend_below
from workflow_scripts.render.numbers import Values
from workflow_scripts.scores.published_leaderboard import read_wide_scores
from workflow_scripts.stats.missing import Completed
from workflow_scripts.stats.principal import (
    compute_principal_components,
    compute_variance_intervals,
    list_component_names,
)
from workflow_scripts.studies.ranking import grid_tables, plots
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

ALL = "all"  # the group of all models; other groups are families
MAX_SHOWN_COMPONENTS = 6  # in the figure and the Markdown table
_COLUMNS = ["component", "low", "high", "groups", "of", "release", "protocol", "group"]
_COLUMNS += ["models", "tasks", "filled", "share"]
_IMPUTATIONS = 20  # draws of the missing scores
_NOTE = (
    "Share of the variance of the standardised scores that each component has, with its 95% interval"
    " over families of models (over models where these are fewer than four), for the models that"
    " have all tasks, or enough to estimate the others: where scores are estimated the shares are means over"
    f" {_IMPUTATIONS} draws within what the estimates leave open. Even scores without anything in"
    " common give a first component of more than 1 / tasks, and two models always give one of 100%:"
    " read it beside the number of models. The CSV has all components, and the loadings of the tasks."
)


def compute_components(
    grids: Grids, settings: GridSettings, seed: int, second_release: pd.DataFrame | None
) -> pd.DataFrame:
    """Compute one row per protocol, group of models and component, with the loadings of the tasks.

    The rows of the second release, if there is one, come last.
    """
    all_families = pd.concat([grid.models["family"] for grid in grids.values()])
    all_families = all_families[~all_families.index.duplicated()]
    score_tables: list[tuple[str, str, pd.DataFrame, Completed | None]] = [
        (grid.origins, grid.protocol, grid.ranked, grid.completed) for grid in grids.values()
    ]
    second = settings.release
    if second and second_release is not None:
        score_tables.append((Path(second.file).stem, second.protocol, second_release, None))
    tables = []
    for release, protocol, scores, completed in score_tables:
        families = all_families.reindex(scores.index)
        for group in (ALL, *settings.families):
            rows = scores[(families == group) | (group == ALL)]
            rows = rows.loc[:, rows.nunique() > 1]
            table = _compute_group(rows, families[rows.index], completed, seed)
            tables.append(table.assign(release=release, protocol=protocol, group=group))
    table = pd.concat(tables, ignore_index=True)
    return table[[*_COLUMNS, *table.filter(like=grid_tables.LOADING_PREFIX)]]


def _compute_group(
    scores: pd.DataFrame, families: pd.Series, completed: Completed | None, seed: int
) -> pd.DataFrame:
    """Compute one row per component with its share of the variance, the interval of the share, and the loadings.

    `completed` says which scores are estimates; None if all are measured.
    """
    cells = (scores.index, scores.columns)
    filled = int(completed.filled.loc[cells].to_numpy().sum()) if completed else 0
    counts = {"models": len(scores), "tasks": scores.shape[1], "filled": filled}
    if len(scores) < 2 or scores.empty:
        return pd.DataFrame([{"component": ""}], columns=_COLUMNS).assign(**counts)
    components = compute_principal_components(scores)
    shares = components.explained_variance_ratio
    table = compute_variance_intervals(scores, families).assign(**counts, share=shares)
    if completed and filled:
        # Expected values of missing cells understate the variance of the later components, so they are sampled.
        samples = [
            compute_principal_components(sample.loc[cells]).explained_variance_ratio
            for sample in completed.draw_imputations(_IMPUTATIONS, seed)
        ]
        shift = sum(samples) / _IMPUTATIONS - shares
        columns = ["low", "high", "share"]
        table[columns] = table[columns].add(shift, axis=0).clip(0, 1)
    loadings = components.loadings.T.add_prefix(grid_tables.LOADING_PREFIX)
    return table.join(loadings).rename_axis("component").reset_index()


def summarize_components(table: pd.DataFrame, study: str) -> Values:
    """Return the named share of the first component of each group of models, not of the second release."""
    keys = ["protocol", "group"]
    first = table[table["component"] == grid_tables.FIRST_COMPONENT].drop_duplicates(keys)
    return grid_tables.name_numbers(first, study, keys, ["share", "models", "tasks"])


def _name_group(group: str) -> str:
    return "all families" if group == ALL else f"{group} alone"


def plot_components(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot the explained variance ratios of the first components, with a panel for each group of models."""
    second = settings.release
    if second:  # its points would overlap those of the first release
        table = table[table["release"] != Path(second.file).stem]
    table = table.dropna(subset=["share"])
    styles = plots.assign_styles(plots.list_protocols(table, settings))
    groups = list(table["group"].unique())
    placeholder = "No component has a share of the variance."
    with plots.draw_panels(files, groups, 4.5, 3.6, placeholder) as (fig, (axes,)):
        for axis, group in zip(axes, groups, strict=False):
            for index, (protocol, (colour, marker)) in enumerate(styles.items()):
                is_shown = (table["group"] == group) & (table["protocol"] == protocol)
                rows = table[is_shown].head(MAX_SHOWN_COMPONENTS)
                percents = 100 * rows[["share", "low", "high"]]
                axis.errorbar(
                    np.arange(len(rows)) + 0.18 * (index - (len(styles) - 1) / 2),
                    percents["share"],
                    yerr=plots.compute_error_bars(*(percents[name] for name in percents)),
                    fmt=marker,
                    color=colour,
                    label=settings.protocol_names[protocol],
                )
            axis.set_xticks(range(MAX_SHOWN_COMPONENTS), list_component_names(MAX_SHOWN_COMPONENTS))
            count = table.loc[table["group"] == group, "models"].max()
            axis.set_title(f"{count} models, {_name_group(group)}", fontsize=9)
            axis.set_ylim(0, 100)
            draw_grid_lines(axis, "y")
        axes[0].set_ylabel("share of the variance, %")
        draw_legend_below(fig, axes[0], 3)


@validate_call
def main(
    grid: Path,
    table: list[Path],
    figure: list[Path],
    settings: GridSettings,
    seed: int,
    release: Path | tuple[()] | None,
) -> None:
    """Write the table and the figure; `release` is empty for a grid without a second release."""
    second = settings.release
    releases = {Path(second.file).stem: second.name} if second else {}
    second_release = read_wide_scores(release) if release else None
    components = compute_components(read_grids(grid), settings, seed, second_release)
    is_shown = components["component"].isin(["", *list_component_names(MAX_SHOWN_COMPONENTS)])
    rows = components[is_shown]
    shown = {
        "Scores": [releases.get(name, "all scores") for name in rows["release"]],
        "Protocol": "{protocol}",
        "Models": "{models}",
        "Tasks": "{tasks}",
        "Cells estimated": "{filled}",
        "Of": rows["group"].map(_name_group),
        "Component": rows["component"].replace("", None),
        "Share (%)": "{share:.2%}",
        "Interval (%)": "{low:.2%} to {high:.2%}",
    }
    title = "Principal components of the scores"
    note = f"{_NOTE} {second.about}" if second else _NOTE
    grid_tables.write_grid_table(
        components, table, settings, title=title, note=note, shown=shown, rows=rows
    )
    plot_components(components, settings, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
