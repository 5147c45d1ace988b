"""Each model's place on a panel, the published one of 61 models or another, from the tasks it was measured on."""

from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import drawing, legend_below, rule
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import intervals, number, numbers
from workflow_scripts.scores.panel import Panel, panel_of
from workflow_scripts.settings.grids import GridProtocol
from workflow_scripts.stats.placement import fit, place
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.leaderboard import format_rank

_SIDE_BY_SIDE = 28  # names of panel models that fit in the figure
ODD = 2.0  # standard deviations, from which on a task is named as unusual
_NOTE = (
    "PC1 that a model would have on the panel (where harmony.panel names no other, the published leaderboard of 61"
    " models on 24 tasks, trained before tested, floored), predicted from the tasks it was"
    " measured on, with a 95% interval and the ranks"
    " it spans, as a model of a family that the panel lacks needs them. Coverage: the share of the panel's"
    " own models that lie in such an interval when they are placed from the same tasks by the other"
    " families alone. Neighbours: the panel"
    " models of most similar scores. Good and bad at: tasks on which the score lies"
    f" {ODD:.0f} standard deviations or more off what the others predict. A model with scores"
    " outside of the panel's range is no model of its kind, and its place is guesswork. Generated"
    " (miniature) models answer generated questions: their place shows the machinery and nothing else."
)
_OF_PLACE = ["pc1", "low", "high", "rank", "best_rank", "worst_rank", "coverage"]
_COLUMNS = ["protocol", "model", "variant", "origin", "tasks", "panel_tasks", *_OF_PLACE]
_COLUMNS += ["neighbours", "good_at", "bad_at", "outside", "caution"]


def place_models(
    grids: dict[str, Grid], panel: Panel, settings: GridSettings, families: pd.Series
) -> pd.DataFrame:
    """One row per protocol and model that shares a task with the panel, the panel's rows left out.

    `families` has the family of each panel model. What a place takes is learnt once for each set of tasks.
    """
    rows, fitted = [], {}
    for grid in grids.values():
        tasks = [task for task in grid.measured if task in panel.scores]
        caution = _give_caution(grid.protocol, settings.grid.protocols[grid.protocol], panel)
        for label, about in grid.models.iterrows():
            measured = grid.values.loc[label, tasks].dropna()
            if measured.empty or _is_of_panel(about["model"], measured, panel.scores):
                continue
            key = tuple(measured.index)
            if key not in fitted:
                fitted[key] = fit(panel.scores, list(key), families)
            found = place(measured, grid.stderrs.loc[label], fitted[key])
            unusual = found.residuals.dropna().sort_values()
            rows.append(
                {
                    "protocol": grid.protocol,
                    **about[["model", "variant", "origin"]],
                    "tasks": len(measured),
                    "panel_tasks": panel.scores.shape[1],
                    **{name: getattr(found, name) for name in _OF_PLACE},
                    "neighbours": " ".join(found.neighbours.index),
                    "good_at": " ".join(unusual.index[unusual >= ODD][::-1]),
                    "bad_at": " ".join(unusual.index[unusual <= -ODD]),
                    "outside": " ".join(found.outside),
                    "caution": caution,
                    **unusual.add_prefix(frame.RESIDUAL),
                }
            )
    table = pd.DataFrame(rows)
    residuals = [name for task in panel.scores if (name := f"{frame.RESIDUAL}{task}") in table]
    return table.reindex(columns=[*_COLUMNS, *residuals])


def _give_caution(name: str, protocol: GridProtocol, panel: Panel) -> str:
    if panel.protocol != frame.TRAINED:
        same = name == panel.protocol
        return "" if same else f"the panel's scores are {panel.protocol.replace('_', '-')}"
    if not protocol.after_training:
        return "not fine-tuned, unlike the panel: a lower bound"
    return "" if protocol.floored_by else "raw; the published panel looks floored"


def _is_of_panel(model: str, measured: pd.Series, panel: pd.DataFrame) -> bool:
    """Whether these are the panel's own scores, imported."""
    return model in panel.index and np.allclose(measured, panel.loc[model, measured.index])


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    def name_tasks(column: str) -> list[str]:
        return [", ".join(settings.names[task] for task in cell.split()) for cell in table[column]]

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
        "Neighbours": [cell.replace(" ", ", ") for cell in table["neighbours"]],
        "Good at": name_tasks("good_at"),
        "Bad at": name_tasks("bad_at"),
        "Outside the panel": name_tasks("outside"),
        "Caution": table["caution"],
    }


def plot_panel(
    table: pd.DataFrame, panel: pd.DataFrame, settings: GridSettings, files: list[Path]
) -> None:
    """The panel's models as a row of ticks on top; below, each model's place with its interval."""
    keys = table["model"] + table["variant"] + " " + table["origin"]
    table = table.assign(name=plots.shorten_names(table), key=keys)
    names = table.drop_duplicates("key").set_index("key")["name"]
    places = principal_components(panel).scores["PC1"].sort_values(ascending=False)
    gap = max(len(names) / plots.NAMED, 1.0)  # a line of text, in rows
    height = 2.6 + 0.32 * max(min(len(names), plots.NAMED), 1)
    with drawing(files, 8, height) as (fig, axes):
        axes.plot(places, np.full(len(places), -gap), "|", color="0.4", markersize=9)
        ends, last = [*places, *table["low"], *table["high"]], np.inf
        for rank, (model, pc1) in enumerate(places.items(), start=1):
            if last - pc1 < (max(ends) - min(ends)) / _SIDE_BY_SIDE:
                continue  # its name would lie on the last one
            last, said = pc1, f"{rank} {model.split('/')[-1]}"
            axes.annotate(said, (pc1, -1.15 * gap), rotation=60, fontsize=6.5, va="bottom")
        if not len(table):
            axes.text(places.mean(), 0, "No model shares a task with the panel.", ha="center")
        row_of = {key: row for row, key in enumerate(names.index)}
        for _, of, shift, look in plots.place_beside(table, settings.grid, gap=0.22):
            down = of["key"].map(row_of).to_numpy(float) + shift
            across = plots.measure_ends(of["pc1"], of["low"], of["high"])
            axes.errorbar(of["pc1"], down, xerr=across, linewidth=1.2, **look)
        named = range(0, len(names), ceil(gap))
        axes.set_yticks([-gap, *named], ["panel", *names.iloc[list(named)]])
        axes.set_ylim(max(len(names), 1) - 0.4, -1.2 * gap)
        axes.set_xlabel("PC1 on the panel, 95% interval")
        rule(axes, "x", "0.92")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        if len(table):
            legend_below(fig, axes, 3)


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
    of_panel = panel_of(panel, of_grid.metrics)
    # Models of the panel may be among the grid's, which knows more of them.
    known = pd.concat([grid.models.set_index("model")["family"] for grid in grids.values()])
    known = known[~known.index.duplicated()].dropna().to_dict() | families
    of_models = pd.Series(known, dtype=object)
    placed = place_models(grids, of_panel, of_grid, of_models)
    shown = format_columns(placed, of_grid)
    write_table(placed, table, title="Place on the panel", note=_NOTE, shown=shown)
    plot_panel(placed, of_panel.scores, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
