"""Draw what the figures of a grid share: colours of protocols and families, heat maps, intervals, lines of ranks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import PALETTE, draw_placeholder, drawing, legend_below
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import frame

# Untrained protocols have the first looks, trained ones the last.
_LOOKS = tuple(zip((PALETTE[at] for at in (1, 2, 6, 4, 3, 0)), "o^PvDs", strict=True))
IMPORTED = "*"
NAMED = 70  # models that fit below one another: figures with a line for each show the first ones
# Red for opposite, white for unrelated, blue for equal rankings; safe for all eyes.
_COLOURS = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "edgecolors": "white", "linewidth": 0.5}


@contextmanager
def draw_panels(
    files: Sequence[Path], panels: Sequence, width: float, height: float, empty: str, **grid: Any
) -> Iterator[tuple]:
    """Yield a figure with a column of axes for each panel, side by side; of none it shows the sentence `empty`."""
    grid = {"ncols": max(len(panels), 1), "squeeze": False} | grid
    with drawing(files, 1.6 + width * grid["ncols"], height, **grid) as (fig, axes):
        if not panels:
            draw_placeholder(axes[0, 0], empty)
        yield fig, axes


def measure_ends(values: pd.Series, low: pd.Series, high: pd.Series) -> list[pd.Series]:
    """Measure how far an interval goes down and up; not at all where there is none."""
    return [side.clip(lower=0).fillna(0) for side in (values - low, high - values)]


def list_protocols(table: pd.DataFrame, grid: GridFile) -> list[str]:
    """List the protocols of the table that figures show, in the order of the grid."""
    present = set(table["protocol"])
    return [protocol for protocol in grid.drawn if protocol in present]


def split_protocols(
    table: pd.DataFrame, grid: GridFile, gap: float
) -> Iterator[tuple[pd.DataFrame, float, dict]]:
    """Yield the rows of each protocol, how far its marks are shifted beside the others', and their look."""
    protocols = list_protocols(table, grid)
    for number, protocol in enumerate(protocols):
        colour, marker = choose_look(protocol, grid)
        look = {"fmt": marker, "markersize": 4.5, "color": colour, "label": grid.names[protocol]}
        shift = (number - (len(protocols) - 1) / 2) * gap
        yield table[table["protocol"] == protocol], shift, look


def choose_look(protocol: str, grid: GridFile) -> tuple[str, str]:
    """Choose colour and marker by the protocol's place and whether models were trained."""
    place = grid.drawn.index(protocol)
    return _LOOKS[place - len(grid.drawn) * grid.protocols[protocol].after_training]


def format_size(parameters: float) -> str:
    """Format as 5B, 312M or 76K."""
    for unit, name in ((1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:.3g}{name}"
    return f"{parameters / 1e3:.3g}K"


def shorten_names(table: pd.DataFrame) -> pd.Series:
    """Name models without their organisation; imported ones are marked where ours stand beside them."""
    names = table["model"].str.split("/").str[-1] + table["variant"]
    own = table["origin"] == frame.OWN
    return names.where(own, names + IMPORTED) if own.any() else names


def color_families(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Give each family a colour and a marker."""
    looks = zip(cycle(PALETTE), cycle("osD^vPXh"), strict=False)
    return dict(zip(sorted(set(table["family"])), looks, strict=False))


def draw_heat_map(
    axis, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, small: bool
):
    """Draw a square of a colour for each number from -1 to 1, with two decimals; a dash where there is none."""
    mesh = axis.pcolormesh(values, **_COLOURS)
    place = {"ha": "center", "va": "center", "fontsize": 5.5 if small else 7.5}
    for (down, across), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
        colour = "white" if abs(value) > 0.6 else "black"
        cell = axis.text(across + 0.5, down + 0.5, text, color=colour, **place)
        cell.set_in_layout(False)  # within its axes, and to measure hundreds takes seconds
    rotation = 90 if small else 0
    axis.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=rotation, fontsize=7)
    axis.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=7)
    axis.set_ylim(len(rows), 0)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    return mesh


def draw_colour_bar(fig, mesh, axes, label: str) -> None:
    bar = fig.colorbar(mesh, ax=axes, location="bottom", aspect=50, shrink=0.6)
    bar.set_label(label)
    bar.outline.set_visible(False)


def plot_matrices(
    rows: pd.DataFrame,
    titles: Mapping[str, str],
    grid: GridFile,
    files: Sequence[Path],
    *,
    names: dict[str, str],
    label: str,
    lines: Sequence[int] = (),
) -> None:
    """Plot a square per protocol of the numbers of pairs `first` and `second`; names may have one with themselves."""
    protocols = list_protocols(rows, grid)
    small = len(names) > 12
    side = max((0.27 if small else 0.72) * len(names), 2.2)
    empty = "No two tasks or texts have scores of the same models."
    shared = {"sharey": True, "layout": "compressed"}
    with draw_panels(files, protocols, side + 0.3, side + 2.6, empty, **shared) as (fig, (axes,)):
        for axis, protocol in zip(axes, protocols, strict=False):
            half = rows[rows["protocol"] == protocol].pivot(
                index="first", columns="second", values="value"
            )
            half = half.reindex(index=list(names), columns=list(names))
            values, shown = half.fillna(half.T).to_numpy(dtype=float), list(names.values())
            mesh = draw_heat_map(axis, values, shown, shown, small=small)
            for place in lines:
                axis.axhline(place, color="black", linewidth=0.6)
                axis.axvline(place, color="black", linewidth=0.6)
            axis.set_aspect("equal")
            axis.set_title(titles[protocol], fontsize=9)
        if protocols:
            draw_colour_bar(fig, mesh, list(axes), label)


def get_rank_height(table: pd.DataFrame) -> float:
    return 1.6 + 0.17 * min(max(table["label"].nunique(), 8), NAMED)


def draw_ranks(
    axis,
    table: pd.DataFrame,
    column: str,
    order: Mapping[str, str],
    looks: Mapping[str, tuple[str, str]],
    ends: Sequence[str],
) -> None:
    """Draw a line per model, strong where the ranges of its two ranks do not meet; names at both ends.

    `order` has the names of the values of `column` that stand side by side, `ends` the columns with the rank, and
    between which it lies. Of more models than can be named the first ones are drawn.
    """
    wide = table.pivot(index="label", columns=column, values=list(ends))
    models = table.drop_duplicates("label").set_index("label")[["name", "family"]]
    first = wide[ends[0]].mean(axis=1).nsmallest(NAMED).index
    last = len(order) - 1
    for label, (name, family) in models.loc[first].iterrows():
        colour = looks[family][0]
        rank, low, high = (wide.loc[label, end][list(order)].to_numpy(float) for end in ends)
        axis.plot(rank, "o", color=colour, markersize=3)
        # Beside one another, or the ranges of neighbours would be one bar.
        ranges = np.arange(len(order)) + ((rank - 1) % 9 - 4) * 0.014
        axis.vlines(ranges, low, high, colors=colour, alpha=0.8, linewidth=0.9)
        for place in range(last):
            apart = low[place] > high[place + 1] or high[place] < low[place + 1]
            look = {"linewidth": 1.5} if apart else {"linewidth": 1, "alpha": 0.3}
            axis.plot([place, place + 1], rank[place : place + 2], color=colour, **look)
        for place, side in ((0, "right"), (last, "left")):
            if not np.isnan(rank[place]):
                text = f"  {name} ({rank[place]:.0f})  "
                axis.text(
                    place, rank[place], text, ha=side, va="center", fontsize=6.8, color=colour
                )
    axis.set_xlim(-0.9, last + 0.9)
    axis.set_ylim(wide[ends[0]].max(axis=None) + 0.7, 0.3)
    axis.set_xticks(range(len(order)), list(order.values()))
    axis.set_yticks([])
    axis.xaxis.tick_top()
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


def draw_family_legend(
    fig, axis, table: pd.DataFrame, looks: Mapping[str, tuple[str, str]], columns: int
) -> None:
    for family in sorted(set(table["family"])):
        colour, marker = looks[family]
        axis.plot([], [], marker, color=colour, label=family)
    if table["name"].str.endswith(IMPORTED).any():
        axis.plot([], [], " ", label=f"{IMPORTED} imported scores")
    legend_below(fig, axis, columns)
