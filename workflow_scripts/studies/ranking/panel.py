"""Each model's place on a panel, the published one of 61 models or another, from the tasks it was measured on."""

from collections import Counter
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import intervals, number, numbers
from workflow_scripts.scores.panel import panel_of
from workflow_scripts.settings.grids import GridProtocol
from workflow_scripts.stats.placement import fit, place
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.grid import Grid, knowing_imported, read_grids
from workflow_scripts.studies.ranking.leaderboard import rank_range
from workflow_scripts.studies.ranking.rank_lines import CROWD, NAMED
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords

PLACES = 28  # names of panel models that would fit side by side in the figure
# Sets of tasks from which a place is learnt by themselves; each takes a twentieth of a second.
MOST_SETS = 100
ODD = 2.0  # standard deviations, from which on a task is named as unusual
NOTE = (
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
COLUMNS = columns(
    ("text", "protocol model variant origin"),
    ("whole", "tasks panel_tasks"),
    ("number", "pc1 low high"),
    ("whole", "rank best_rank worst_rank"),
    ("number", "coverage"),
    ("text", "neighbours good_at bad_at outside caution"),
    like={frame.RESIDUAL + frame.TASK_NAME: "number"},
)
_OF_PLACE = ("pc1", "low", "high", "rank", "best_rank", "worst_rank", "coverage")


def on_panel(
    grids: dict[str, Grid], panel: pd.DataFrame, request: GridRequest, of: str = frame.TRAINED
) -> pd.DataFrame:
    """One row per protocol and model that shares a task with the panel, the panel's rows left out.

    `of` is the protocol of the panel's scores.

    What a place takes is learnt once for each set of tasks. Of more sets than the most shared ones, models of
    the others are placed by all tasks, those that they lack estimated as for the leaderboard.
    """
    rows, fitted = [], {}
    families = pd.Series({row.model: row.family for row in request.models}, dtype=object)
    parts = {
        name: grid.measured[[task for task in grid.measured if task in panel]]
        for name, grid in grids.items()
    }
    shared = Counter(
        tuple(values.columns[known])
        for values in parts.values()
        for known in values.notna().to_numpy(bool)
    )
    own = {key for key, _ in shared.most_common(MOST_SETS)}
    for name, grid in grids.items():
        values, stderrs = parts[name], grid.stderrs[parts[name].columns]
        completed = grid.completed.errors if len(shared) > len(own) else grid.errors
        every = completed.scores[values.columns], completed.stderrs[values.columns]
        for at, about in enumerate(grid.models.itertuples()):
            measured = values.iloc[at].dropna()
            if measured.empty or _of_panel(about.model, measured, panel):
                continue
            given, errors = measured, stderrs.iloc[at]
            if tuple(measured.index) not in own and every[0].iloc[at].notna().all():
                given, errors = (one.iloc[at] for one in every)
            key = tuple(given.index)
            if key not in fitted:
                fitted[key] = fit(panel, list(key), families)
            found = place(panel, given, families, errors, fitted=fitted[key])
            unusual = found.residuals[measured.index].dropna().sort_values()
            rows.append(
                {
                    "protocol": grid.protocol,
                    **{"model": about.model, "variant": about.variant, "origin": about.origin},
                    "tasks": len(measured),
                    "panel_tasks": panel.shape[1],
                    **{name: getattr(found, name) for name in _OF_PLACE},
                    "neighbours": " ".join(found.neighbours.index),
                    "good_at": " ".join(unusual.index[unusual >= ODD][::-1]),
                    "bad_at": " ".join(unusual.index[unusual <= -ODD]),
                    "outside": " ".join(task for task in found.outside if task in measured),
                    "caution": _caution(grid.protocol, request.grid.protocols[grid.protocol], of),
                    **unusual.add_prefix(frame.RESIDUAL),
                }
            )
    table = pd.DataFrame(rows)
    residuals = [name for task in panel if (name := f"{frame.RESIDUAL}{task}") in table]
    return table.reindex(columns=[*COLUMNS.named, *residuals])


def _caution(name: str, protocol: GridProtocol, of: str) -> str:
    if of != frame.TRAINED:
        return "" if name == of else f"the panel's scores are {of.replace('_', '-')}"
    if not protocol.after_training:
        return "not fine-tuned, unlike the panel: a lower bound"
    return "" if protocol.floored_by else "raw; the published panel looks floored"


def _of_panel(model: str, measured: pd.Series, panel: pd.DataFrame) -> bool:
    """Whether these are the panel's own scores, imported."""
    return model in panel.index and np.allclose(measured, panel.loc[model, measured.index])


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    def named(column: str) -> list[str]:
        return [", ".join(request.names[task] for task in cell.split()) for cell in table[column]]

    ranked = zip(table["rank"], table["best_rank"], table["worst_rank"], strict=True)
    measured = zip(table["tasks"], table["panel_tasks"], strict=True)
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Model": table["model"] + table["variant"],
        "Origin": table["origin"],
        "Tasks": [f"{n} of {of}" for n, of in measured],
        "PC1": numbers(table["pc1"], ".0f"),
        "Interval": intervals(table["low"], table["high"], lambda end: number(end, ".0f")),
        "Rank": [rank_range(*row) for row in ranked],
        "Coverage": numbers(table["coverage"], ".2f"),
        "Neighbours": [cell.replace(" ", ", ") for cell in table["neighbours"]],
        "Good at": named("good_at"),
        "Bad at": named("bad_at"),
        "Outside the panel": named("outside"),
        "Caution": table["caution"],
    }


def _note(table: pd.DataFrame, _: GridRequest) -> str:
    many = f" Of more than {MOST_SETS} sets of tasks those that fewest models share are filled: the tasks that a"
    many += " model lacks are estimated as for the leaderboard, and how unsure that is widens its interval."
    return NOTE + (many if len(table) > MOST_SETS else "")


def _make(inputs: Inputs, request: GridRequest) -> pd.DataFrame:
    request = knowing_imported(inputs, request)  # models of the panel may be among theirs
    panel = panel_of(inputs.one("panel"), request.metrics)
    return on_panel(read_grids(inputs, request), panel.scores, request, panel.protocol)


TABLE = Table(
    name="panel",
    title="Place on the panel",
    note=_note,
    columns=COLUMNS,
    asks=GridRequest,
    make=_make,
    show=_show,
)


def write_panel_figure(
    table: pd.DataFrame, panel: pd.DataFrame, request: GridWords, pdf: Path, png: Path
) -> None:
    """The panel's models as a row of ticks on top; below, each model's place with its interval.

    More models than have names below one another stand by their place, and some of them are named.
    """
    keys = table["model"] + table["variant"] + " " + table["origin"]
    table = table.assign(name=labels.short_names(table), key=keys)
    order = list(dict.fromkeys(table["key"]))
    if many := len(order) > NAMED:
        shown = table[table["protocol"].isin(labels.shown_protocols(table, request.grid)[-1:])]
        best = shown.drop_duplicates("key").sort_values("pc1", ascending=False)["key"]
        order = list(dict.fromkeys([*best, *order]))
    names = table.drop_duplicates("key").set_index("key")["name"]
    height = 2.6 + 0.32 * max(min(len(order), 0.6 * NAMED if many else NAMED), 1)
    places = principal_components(panel).scores["PC1"].sort_values(ascending=False)
    with labels.drawing(pdf, png, 8, height) as (fig, axes):
        gap = max(len(order) / NAMED, 1.0)  # a line of text, in rows
        axes.plot(places, np.full(len(places), -gap), "|", color="0.4", markersize=9)
        ends = [*places, *table["low"], *table["high"]]
        if len(order) > CROWD:  # a few intervals of very many reach far beyond all others
            ends = [*places, *np.quantile(table[["low", "high"]], (0.005, 0.995))]
            axes.set_xlim(min(ends), max(ends))
        last = np.inf
        for rank, (model, pc1) in enumerate(places.items(), start=1):
            if last - pc1 < (max(ends) - min(ends)) / PLACES:
                continue  # its name would lie on the last one
            last = pc1
            axes.annotate(
                f"{rank} {model.split('/')[-1]}", (pc1, -1.15 * gap), rotation=60,
                fontsize=6.5, va="bottom", annotation_clip=False,
            )  # fmt: skip
        if not len(table):
            axes.text(places.mean(), 0, "No model shares a task with the panel.", ha="center")
        row_of = {key: row for row, key in enumerate(order)}
        for _, of, shift, look in labels.beside(table, request.grid, gap=0.22):
            down = of["key"].map(row_of).to_numpy(float) + shift
            across = labels.reach(of["pc1"], of["low"], of["high"])
            look |= {"markersize": 2, "alpha": 0.6} if many else {}
            if len(order) > CROWD:
                axes.plot([], [], look["fmt"], color=look["color"], label=look.pop("label"))
                look |= {"alpha": 0.1, "rasterized": True}
            axes.errorbar(of["pc1"], down, xerr=across, linewidth=0.4 if many else 1.2, **look)
            for y, row in zip(down, [] if many else of.itertuples(), strict=not many):
                axes.annotate(f"{row.tasks}", (row.high, y), xytext=(3, 0), fontsize=6.5, va="center",
                              textcoords="offset points", color="0.35")  # fmt: skip
        named = range(0, len(order), ceil(gap * 1.7) if many else 1)
        axes.set_yticks([-gap, *named], ["panel", *(names[order[row]] for row in named)])
        axes.set_ylim(max(len(order), 1) - 0.4, -1.2 * gap)
        behind = "" if many else "; number of tasks measured behind it"
        axes.set_xlabel(f"PC1 on the panel, 95% interval{behind}")
        labels.rule(axes, "x", "0.92")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0, labelsize=6.5 if many else None)
        if len(table):
            legend_below(fig, axes, 3)


FIGURE = Figure(
    name="panel",
    asks=GridWords,
    draw=lambda inputs, request, pdf, png: write_panel_figure(
        TABLE.read(inputs.one("table")),
        panel_of(inputs.one("panel"), request.metrics).scores,
        *(request, pdf, png),
    ),
)
