"""Figure: the agreement of every pair of tasks, in the order of their categories."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, say_empty
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking.agreement import TABLE
from workflow_scripts.studies.ranking.frame import MEAN, MEASURES, PAIR
from workflow_scripts.studies.ranking.labels import (
    drawing,
    drawn_from,
    said_mean,
    shown_protocols,
    titles,
)
from workflow_scripts.studies.ranking.requests import GridWords, RankedTask

COLOURS = (
    "RdBu"  # red for opposite, white for unrelated, blue for equal rankings; safe for all eyes
)
LABEL = "Kendall's tau-b of the two rankings of models"


def draw_matrices(
    rows: pd.DataFrame,
    titles: Mapping[str, str],
    grid: GridFile,
    *,
    names: dict[str, str],
    cell: float,
    lines: Sequence[int] = (),
    label: str = LABEL,
    files: tuple[Path, Path],
) -> None:
    """A square per protocol of the numbers of pairs; names may have a number with themselves."""
    protocols = shown_protocols(rows, grid)
    diagonal = bool((rows["first"] == rows["second"]).any())
    side = max(cell * len(names), 2.2)
    columns = max(len(protocols), 1)
    panels = {"ncols": columns, "squeeze": False, "sharey": True, "layout": "compressed"}
    width, height = 1.6 + (side + 0.3) * columns, side + 2.6
    pdf, png = files
    with drawing(pdf, png, width, height, **panels) as (fig, (axes,)):
        if not protocols:
            say_empty(axes[0], "No two tasks or texts have scores of the same models.")
        for axis, protocol in zip(axes, protocols, strict=bool(protocols)):
            values = _square(rows[rows["protocol"] == protocol], list(names))
            mesh = axis.pcolormesh(
                values, cmap=COLOURS, vmin=-1, vmax=1, edgecolors="white", linewidth=0.5
            )
            write_numbers(axis, values, small=len(names) > 12, diagonal=diagonal)
            for at in lines:
                axis.axhline(at, color="black", linewidth=0.6)
                axis.axvline(at, color="black", linewidth=0.6)
            ticks = np.arange(len(names)) + 0.5
            axis.set_xticks(ticks, names.values(), rotation=90 if cell < 0.5 else 0, fontsize=7)
            axis.set_yticks(ticks, names.values(), fontsize=7)
            axis.set_ylim(len(names), 0)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            axis.set_aspect("equal")
            axis.set_title(titles[protocol], fontsize=9)
        if protocols:
            bar = fig.colorbar(mesh, ax=list(axes), location="bottom", aspect=50, shrink=0.6)
            bar.set_label(label)
            bar.outline.set_visible(False)


def _square(rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    values = np.full((len(names), len(names)), np.nan)
    at = {name: place for place, name in enumerate(names)}
    for row in rows.itertuples():
        one, other = at[row.first], at[row.second]
        values[one, other] = values[other, one] = row.value
    return values


def write_numbers(axis, values: np.ndarray, *, small: bool, diagonal: bool) -> None:
    """Two decimals in each cell, on dark cells in white; a dash where there is no number."""
    for (down, across), value in np.ndenumerate(values):
        if np.isnan(value):
            text = "" if down == across and not diagonal else "–"
        else:
            text = f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
        colour = "white" if abs(value) > 0.6 else "black"
        cell = axis.text(across + 0.5, down + 0.5, text, ha="center", va="center", color=colour,
                         fontsize=5.5 if small else 7.5)  # fmt: skip
        cell.set_in_layout(False)  # within its axes, and to measure hundreds takes seconds


def with_means(table: pd.DataFrame, rows: pd.DataFrame, grid: GridFile) -> dict[str, str]:
    """The titles of the protocols of these rows, each with the mean over all pairs where it has an interval."""
    means = table[table["statistic"] == MEAN].set_index("protocol")
    return {
        protocol: title + (said_mean(means.loc[protocol]) if protocol in means.index else "")
        for protocol, title in titles(rows, grid).items()
    }


def borders(tasks: Sequence[RankedTask]) -> list[int]:
    """Behind which of the tasks another category begins."""
    return [at for at in range(1, len(tasks)) if tasks[at].category != tasks[at - 1].category]


def write_matrices(
    table: pd.DataFrame, request: GridWords, pdf: Path, png: Path, measure: str = "kendall"
) -> None:
    if "measure" in table:
        table = table[table["measure"] == measure]
    pairs = table[table["statistic"] == PAIR]
    seen = set(pairs["first"]) | set(pairs["second"])
    ordered = [row for row in request.in_categories if row.task in seen]
    models = "" if request.grid.run or pairs.empty else f" over the {pairs['models'].max()} models"
    draw_matrices(
        pairs,
        with_means(table, pairs, request.grid),
        request.grid,
        names={row.task: row.display_name for row in ordered},
        cell=0.27,
        lines=borders(ordered),
        label=f"{MEASURES[measure]} of two tasks{models}" if models else LABEL,
        files=(pdf, png),
    )


FIGURE = Figure(name="matrices", asks=GridWords, draw=drawn_from(TABLE, write_matrices))
