"""Draw what figures of grids share: panels, styles of families, heat maps, intervals, lines of ranks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import (
    PALETTE,
    draw_grid_lines,
    draw_legend_below,
    draw_placeholder,
    open_figure,
)
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import grid_tables

IMPORTED_MARK = "*"  # after the name of a model with imported scores
MAX_LABELLED_MODELS = 70  # in a figure with a line and two labels per model
# Red for opposite, white for unrelated, blue for equal rankings; safe for colour-blind readers.
_COLOURS = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "edgecolors": "white", "linewidth": 0.5}


@contextmanager
def draw_panels(
    files: Sequence[Path],
    panels: Sequence,
    width: float,
    height: float,
    placeholder: str,
    **subplots: Any,
) -> Iterator[tuple]:
    """Yield a figure with a column of axes per panel, each of this width, and save it (`open_figure`).

    Without panels, the figure has the sentence `placeholder`.
    """
    subplots = {"ncols": max(len(panels), 1), "squeeze": False} | subplots
    with open_figure(files, 1.6 + width * subplots["ncols"], height, **subplots) as (fig, axes):
        if not panels:
            for axis in axes.flat:
                axis.set_axis_off()
            draw_placeholder(axes[0, 0], placeholder)
        yield fig, axes


def list_protocols(table: pd.DataFrame, grid: GridFile) -> list[str]:
    """List the table's protocols that figures show, in the grid's order."""
    present = set(table["protocol"])
    return [protocol for protocol in grid.plotted_protocols if protocol in present]


def format_size(parameters: float) -> str:
    """Format as 5B, 312M or 76K."""
    for unit, name in ((1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:.3g}{name}"
    return f"{parameters / 1e3:.3g}K"


def name_models(table: pd.DataFrame) -> pd.DataFrame:
    """Add short model names, marked if imported into a table with own scores, and fill missing families."""
    names = table["model"].str.split("/").str[-1] + table["variant"]
    own = table["origin"] == grid_tables.OWN
    names = names.where(own, names + IMPORTED_MARK) if own.any() else names
    return table.assign(name=names, family=table["family"].fillna("other"))


def assign_styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Assign each name a colour and a marker."""
    styles = zip(cycle(PALETTE), cycle("osD^vPXh"), strict=False)
    return dict(zip(names, styles, strict=False))


def compute_error_bars(values: pd.Series, low: pd.Series, high: pd.Series) -> list[pd.Series]:
    """Compute the lengths of the error bars below and above each value; 0 if there is no interval."""
    return [length.clip(lower=0).fillna(0) for length in (values - low, high - values)]


def draw_intervals(
    axes, table: pd.DataFrame, colours: Mapping[str, object], labels: pd.Index
) -> None:
    """Draw each `value` with its interval in the row of its `label`, top to bottom, in the colour of its `name`."""
    step = 0.7 / max(len(colours), 1)
    for number, (name, colour) in enumerate(colours.items()):
        rows = table[(table["name"] == name) & table["value"].notna()]
        y = labels.get_indexer(rows["label"]) + (number - (len(colours) - 1) / 2) * step
        error_bars = compute_error_bars(rows["value"], rows["low"], rows["high"])
        axes.errorbar(rows["value"], y, xerr=error_bars, fmt="o", color=colour, label=name)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    draw_grid_lines(axes, "x")


def pivot_pairs(
    rows: pd.DataFrame, titles: Mapping[str, str], grid: GridFile, names: dict[str, str]
) -> dict[str, pd.DataFrame]:
    """Pivot the values of pairs (`first`, `second`) to one symmetric matrix per protocol, by its title.

    `names` has the displayed names of what the pairs are of, in the order of rows and columns.
    """
    rows = rows.dropna(subset="value")
    matrices = {}
    for protocol in list_protocols(rows, grid):
        pairs = rows[rows["protocol"] == protocol]
        triangle = pairs.pivot(index="first", columns="second", values="value")
        triangle = triangle.reindex(index=list(names), columns=list(names)).astype(float)
        matrix = triangle.fillna(triangle.T)
        matrices[titles[protocol]] = matrix.rename(index=names, columns=names)
    return matrices


def plot_heat_maps(
    maps: dict[str, pd.DataFrame],
    files: Sequence[Path],
    label: str,
    lines: Sequence[int] = (),
) -> None:
    """Plot each matrix of values from -1 to 1 as a heat map, with two decimals or a dash per cell.

    `lines` are the positions of separators between rows and columns.
    """
    count = len(next(iter(maps.values()), ()))
    has_small_cells = count > 12
    side = max((0.27 if has_small_cells else 0.72) * count, 2.2)
    placeholder = "No two tasks have two models in common whose scores differ."
    subplots = {"sharey": True, "layout": "compressed"}
    width = side + 0.3
    height = side + 2.6
    with draw_panels(files, list(maps), width, height, placeholder, **subplots) as (fig, (axes,)):
        for axis, (title, values) in zip(axes, maps.items(), strict=False):
            mesh = axis.pcolormesh(values.to_numpy(), **_COLOURS)
            style = {"ha": "center", "va": "center", "fontsize": 5.5 if has_small_cells else 7.5}
            for (row, column), value in np.ndenumerate(values):
                text = f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
                text = "–" if np.isnan(value) else text
                colour = "white" if abs(value) > 0.6 else "black"
                cell = axis.text(column + 0.5, row + 0.5, text, color=colour, **style)
                cell.set_in_layout(False)  # inside its axes; measuring hundreds takes seconds
            ticks = np.arange(count) + 0.5
            axis.set_xticks(ticks, values.columns, rotation=90 * has_small_cells, fontsize=7)
            axis.set_yticks(ticks, values.index, fontsize=7)
            axis.set_ylim(count, 0)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            for line in lines:
                axis.axhline(line, color="black", linewidth=0.6)
                axis.axvline(line, color="black", linewidth=0.6)
            axis.set_aspect("equal")
            axis.set_title(title, fontsize=9)
        if maps:
            bar = fig.colorbar(mesh, ax=list(axes), location="bottom", aspect=50, shrink=0.6)
            bar.set_label(label)
            bar.outline.set_visible(False)


def plot_ranks(
    panels: Mapping[str, pd.DataFrame],
    column: str,
    order: Mapping[str, str],
    rank_columns: Sequence[str],
    files: Sequence[Path],
    *,
    width: float,
    placeholder: str,
    columns: int,
) -> None:
    """Plot ranks with a panel for each title (`draw_ranks`), and families in a legend of at most `columns` columns.

    `width` is the width of a panel in inches, `placeholder` the sentence in a figure without panels.
    """
    table = pd.concat([pd.DataFrame(columns=["label"]), *panels.values()])
    height = 1.6 + 0.17 * min(max(table["label"].nunique(), 8), MAX_LABELLED_MODELS)
    with draw_panels(files, list(panels), width, height, placeholder) as (fig, (axes,)):
        if not panels:
            return
        table = name_models(table)
        styles = assign_styles(sorted(set(table["family"])))
        for axis, (title, rows) in zip(axes, panels.items(), strict=True):
            draw_ranks(axis, table.loc[rows.index], column, order, styles, rank_columns)
            axis.set_title(title, fontsize=9, pad=16)
        if table["name"].str.endswith(IMPORTED_MARK).any():
            styles[f"{IMPORTED_MARK} imported scores"] = "none", " "
        draw_style_legend(fig, axes[0], styles, columns)


def draw_ranks(
    axis,
    table: pd.DataFrame,
    column: str,
    order: Mapping[str, str],
    styles: Mapping[str, tuple[str, str]],
    rank_columns: Sequence[str],
) -> None:
    """Draw one line per model, opaque where the intervals of its two ranks do not overlap, with names at both ends.

    `order` has the labels of the values of `column` on the x axis; `rank_columns` are the columns with the rank and
    the ends of its interval. Only the MAX_LABELLED_MODELS best models are drawn.
    """
    ranks = rank_columns[0]
    # Names of tied models stand below each other.
    table = table.assign(line=table[ranks] + table.groupby([column, ranks]).cumcount())
    best = table.groupby("label")[ranks].mean().nsmallest(MAX_LABELLED_MODELS).index
    last = len(order) - 1
    for label in best:
        rows = table[table["label"] == label]
        name, family = rows[["name", "family"]].iloc[0]
        colour = styles[family][0]
        rank, low, high, line = (
            rows.set_index(column)[[*rank_columns, "line"]].reindex(list(order)).to_numpy(float).T
        )
        axis.plot(rank, "o", color=colour, markersize=3)
        # Horizontal offsets keep the intervals of neighbouring ranks apart.
        interval_x = np.arange(len(order)) + ((rank - 1) % 9 - 4) * 0.014
        axis.vlines(interval_x, low, high, colors=colour, alpha=0.8, linewidth=0.9)
        for x in range(last):
            differs = low[x] > high[x + 1] or high[x] < low[x + 1]
            axis.plot([x, x + 1], rank[x : x + 2], color=colour, alpha=1 if differs else 0.3)
        for x, side in ((0, "right"), (last, "left")):
            if not np.isnan(rank[x]):
                style = {"ha": side, "va": "center", "fontsize": 6.8, "color": colour}
                text_x = x + (0.06 if x else -0.06)  # beside the intervals
                axis.text(text_x, line[x], f"  {name} ({rank[x]:.0f})  ", **style)
    axis.set_xlim(-0.9, last + 0.9)
    axis.set_ylim(table["line"].max() + 0.7, 0.3)
    axis.set_xticks(range(len(order)), list(order.values()))
    axis.set_yticks([])
    axis.xaxis.tick_top()
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


def draw_style_legend(fig, axis, styles: Mapping[str, tuple[str, str]], columns: int) -> None:
    """Draw a legend of colours and markers below the figure."""
    for name, (colour, marker) in styles.items():
        axis.plot([], [], marker, color=colour, label=name)
    draw_legend_below(fig, axis, columns)
