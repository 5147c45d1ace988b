"""Two tasks side by side: the rank of each model on both, and the ranks that it could as well have."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import with_errors
from workflow_scripts.stats.partial_order import (
    SIGNIFICANT,
    joint_ranks,
    opposed_models,
    partial_orders,
    rank_bounds,
)
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.leaderboard import rank_range
from workflow_scripts.studies.ranking.rank_lines import (
    NAMED,
    are_named,
    draw_lines,
    draw_range,
    fineness,
)
from workflow_scripts.studies.ranking.requests import GridWords, PairRequest

COLUMNS = columns(
    ("text", "protocol task label model variant origin"),
    ("maybe", "family"),
    ("number", "value stderr"),
    ("whole", "rank best worst opposed"),
)


def two_tasks(grids: Mapping[str, Grid], request: PairRequest) -> pd.DataFrame:
    """A row per protocol, task and model that has both tasks, best first; none of a single task."""
    grids = {key: grid for key, grid in grids.items() if key in request.grid.drawn}
    # In the order of the tasks table, as the columns of a grid are.
    measured = dict.fromkeys(task for grid in grids.values() for task in grid.measured)
    tasks = list(request.pair or measured)[:2]
    rows = []
    for protocol, grid in grids.items():
        if len(tasks) < 2 or not set(tasks) <= set(grid.values):
            continue
        values = grid.values[tasks].dropna()
        errors = grid.errors.part(values)
        above = partial_orders(errors)
        ranks, opposed = joint_ranks(errors, above), opposed_models(above)
        about = grid.models.loc[values.index, ["model", "variant", "origin", "family"]]
        for task, better in zip(tasks, above, strict=True):
            found = about.rename_axis("label").reset_index().assign(protocol=protocol, task=task)
            of = {"value": values[task], "stderr": errors.stderrs[task], "rank": ranks[task]}
            of |= dict(zip(("best", "worst"), rank_bounds(better), strict=True))
            of["opposed"] = opposed
            found = found.assign(**{name: np.asarray(column) for name, column in of.items()})
            rows.append(found.sort_values("rank"))
    return COLUMNS.typed(pd.concat(rows) if rows else pd.DataFrame(columns=list(COLUMNS.named)))


def _show(table: pd.DataFrame, request: PairRequest) -> ShownColumns:
    ranked = zip(table["rank"], table["best"], table["worst"], strict=True)
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Task": table["task"].map(request.names),
        "Rank": [rank_range(*row) for row in ranked],
        "Model": table["label"],
        "Score": with_errors(table["value"], table["stderr"]),
    }


def _title(request: PairRequest) -> str:
    if request.grid.run or len(request.pair) < 2:
        return "Two tasks side by side"
    return f"{request.grid.title}: {' beside '.join(request.names[task] for task in request.pair)}"


def _note(_: pd.DataFrame, request: PairRequest) -> str:
    run = request.grid.run
    first = "The two tasks of harmony.task_pair, over the models that have both."
    last = f" A score without a standard error is above or below none. {frame.RAW_AND_MISSING}"
    return (
        f"{first if run else f'{request.grid.called.capitalize()} with their standard errors.'} A model ranks above"
        f" another where its score is higher by more than {SIGNIFICANT} standard errors of the difference;"
        " in brackets the ranks that this order leaves a model. Among these its rank is chosen as alike on"
        " both tasks as the order allows, so that what differs between them differs significantly."
        f"{last if run else ''}"
    )


TABLE = Table(
    name="two_tasks",
    title=_title,
    note=_note,
    columns=COLUMNS,
    asks=PairRequest,
    make=lambda inputs, request: two_tasks(read_grids(inputs, request), request),
    show=_show,
)


def write_two_tasks(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """A panel per protocol, a column per task: a line per model, strong where its two ranges do not meet."""
    table = table.assign(name=labels.short_names(table), family=table["family"].fillna("other"))
    protocols = labels.shown_protocols(table, request.grid)
    looks = labels.families(table)
    most = int(table["rank"].max()) if len(table) else 8
    height = 1.5 + 0.165 * min(max(most, 8), NAMED + 10)
    columns = max(len(protocols), 1)
    with labels.drawing(pdf, png, 5.4 * columns, height, ncols=columns, squeeze=False) as (
        fig,
        (axes,),
    ):
        if not protocols:
            say_empty(axes[0], "No model has a score on both tasks.")
            return
        for axis, protocol in zip(axes, protocols, strict=True):
            rows = table[table["protocol"] == protocol]
            _draw_panel(axis, rows, request.names, looks)
            axis.set_title(request.grid.names[protocol], fontsize=10, pad=16)
        for family in [name for name in looks if name in set(table["family"])]:
            axes[0].plot([], [], "o-", color=looks[family][0], label=family)
        if table["name"].str.endswith(labels.IMPORTED).any():
            axes[0].plot([], [], " ", label=labels.MARK_NOTE)
        legend_below(fig, axes[0], 8)


def _draw_panel(axis, rows: pd.DataFrame, names: Mapping[str, str], looks: dict) -> None:
    from matplotlib.colors import to_rgb

    tasks = list(dict.fromkeys(rows["task"]))
    most = int(rows["rank"].max())
    found = [rows[rows["task"] == task].set_index("label") for task in tasks]
    found = [of.loc[found[0].index] for of in found]
    ranks, low, high = (
        np.stack([of[name].to_numpy(float) for of in found], axis=1)
        for name in ("rank", "best", "worst")
    )
    colours = np.array([to_rgb(looks[family][0]) for family in found[0]["family"]])
    draw_lines(axis, ranks, low, high, colours)
    for at, outward in enumerate((-1, 1)):
        # Beside one another, or the ranges of neighbours would be one bar.
        beside = at + outward * (0.03 + 0.022 * ((ranks[:, at] - 1) % 7))
        draw_range(axis, beside, low[:, at], high[:, at], colours, alpha=0.55, width=0.9)
    for across, (task, side) in enumerate(zip(tasks, ("right", "left"), strict=True)):
        of_task = rows[rows["task"] == task]
        named = of_task[are_named(of_task["rank"].to_numpy(float))]
        for rank, tied in named.groupby("rank"):  # equal models share one label
            said = ", ".join(tied["name"])
            text = f"{said} {rank}" if side == "right" else f"{rank} {said}"
            axis.text(across + (0.21 if across else -0.21), rank, text, ha=side, va="center",
                      fontsize=6.8, color=looks[tied["family"].iloc[0]][0])  # fmt: skip
    axis.set_xticks([0, 1], [names[task] for task in tasks])
    axis.xaxis.tick_top()
    axis.set_xlim(-1.0, 2.0)
    axis.set_ylim(most + 0.7, 1 - 0.7 / fineness(most))
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


FIGURE = Figure(name="two_tasks", asks=GridWords, draw=labels.drawn_from(TABLE, write_two_tasks))
