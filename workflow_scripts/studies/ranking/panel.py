"""Each model's place on a panel, the published one of 61 models or another, from the tasks it was measured on."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import drawing
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import intervals, number, numbers
from workflow_scripts.scores.panel import Panel, read_panel_scores
from workflow_scripts.settings.grids import GridProtocol
from workflow_scripts.stats.placement import fit, place
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.leaderboard import format_rank

_NAMED = 28  # panel models that the figure names
_NOTE = (
    "PC1 that a model would have on the panel (where harmony.panel names no other, the published leaderboard of 61"
    " models on 24 tasks, trained before tested, floored), predicted from the tasks it was"
    " measured on, with a 95% interval and the ranks"
    " it spans, as a model of a family that the panel lacks needs them. Coverage: the share of the panel's"
    " own models that lie in such an interval when they are placed from the same tasks by the other"
    " families alone. A model with scores"
    " outside of the panel's range is no model of its kind, and its place is guesswork. Generated"
    " (miniature) models answer generated questions: their place shows the machinery and nothing else."
)
_OF_PLACE = ["pc1", "low", "high", "rank", "best_rank", "worst_rank", "coverage"]
_COLUMNS = ["protocol", "model", "variant", "origin", "tasks", "panel_tasks", *_OF_PLACE]
_COLUMNS += ["outside", "caution"]


def place_models(
    grids: dict[str, Grid], panel: Panel, settings: GridSettings, families: pd.Series
) -> pd.DataFrame:
    """Compute a row per protocol and model that shares a task with the panel, the panel's rows left out.

    `families` has the family of each panel model. What a place takes is learnt once for each set of tasks.
    """
    rows, fitted = [], {}
    for grid in grids.values():
        tasks = [task for task in grid.measured if task in panel.scores]
        caution = _give_caution(grid.protocol, settings.grid.protocols[grid.protocol], panel)
        for label, about in grid.models.iterrows():
            measured = grid.values.loc[label, tasks].dropna()
            key, model = tuple(measured.index), about["model"]
            if not key or (
                model in panel.scores.index
                and np.allclose(measured, panel.scores.loc[model, measured.index])
            ):  # the panel's own scores, imported
                continue
            if key not in fitted:
                fitted[key] = fit(panel.scores, list(key), families)
            row = place(measured, grid.stderrs.loc[label], fitted[key])
            rows.append(
                {
                    "protocol": grid.protocol,
                    **about[["model", "variant", "origin"]],
                    "tasks": len(measured),
                    "panel_tasks": panel.scores.shape[1],
                    **row,
                    "outside": " ".join(row["outside"]),
                    "caution": caution,
                }
            )
    return pd.DataFrame(rows, columns=_COLUMNS)


def _give_caution(name: str, protocol: GridProtocol, panel: Panel) -> str:
    if panel.protocol != frame.TRAINED:
        same = name == panel.protocol
        return "" if same else f"the panel's scores are {panel.protocol.replace('_', '-')}"
    if not protocol.after_training:
        return "not fine-tuned, unlike the panel: a lower bound"
    return "" if protocol.floored_by else "raw; the published panel looks floored"


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    ranked = zip(table["rank"], table["best_rank"], table["worst_rank"], strict=True)
    measured = zip(table["tasks"], table["panel_tasks"], strict=True)
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Model": table["model"] + table["variant"],
        "Origin": table["origin"],
        "Tasks": [f"{n} of {of}" for n, of in measured],
        "PC1": numbers(table["pc1"], ".0f"),
        "Interval": intervals(table["low"], table["high"], lambda end: number(end, ".0f")),
        "Rank": [format_rank(*row) for row in ranked],
        "Coverage": numbers(table["coverage"], ".2f"),
        "Outside the panel": [
            ", ".join(settings.names[task] for task in cell.split()) for cell in table["outside"]
        ],
        "Caution": table["caution"],
    }


def plot_panel(
    table: pd.DataFrame, panel: pd.DataFrame, settings: GridSettings, files: list[Path]
) -> None:
    """Plot the place of each model with its interval, of the first 70; above, the panel's models as ticks."""
    table = table.assign(named=plots.shorten_names(table))
    table = table[table["named"].isin(table["named"].unique()[: plots.NAMED])]
    places = principal_components(panel).scores["PC1"].sort_values(ascending=False)
    height = 2.6 + 0.32 * max(table["named"].nunique(), 1)
    with drawing(files, 8, height) as (fig, axes):
        plots.draw_intervals(fig, axes, table, settings.grid, ("pc1", "low", "high"))
        axes.plot(places, np.full(len(places), -0.6), "|", color="0.4", clip_on=False)
        last = np.inf
        for rank, (model, pc1) in enumerate(places.items(), start=1):
            if last - pc1 > np.ptp(places) / _NAMED:  # else its name would lie on the last one
                last, text = pc1, f"{rank} {model.split('/')[-1]}"
                axes.annotate(text, (pc1, -0.7), rotation=60, fontsize=6.5, va="bottom")
        axes.set_xlabel("PC1 on the panel, 95% interval")


def main(
    cells: Path,
    models: Path,
    panel: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
    families: dict[str, str],
) -> None:
    """Place the models of a grid. `families` has the family of each known model."""
    of_grid, grids = GridSettings.of(settings), read_grids(cells, models)
    of_panel = read_panel_scores(panel, of_grid.metrics)
    # Models of the panel may be among the grid's, which knows more of them.
    known = pd.concat([grid.models.set_index("model")["family"] for grid in grids.values()])
    of_models = pd.Series(known.dropna().to_dict() | families, dtype=object)
    placed = place_models(grids, of_panel, of_grid, of_models)
    shown = format_columns(placed, of_grid)
    write_table(placed, table, title="Place on the panel", note=_NOTE, shown=shown)
    plot_panel(placed, of_panel.scores, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
