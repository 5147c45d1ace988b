"""What the figures of a grid share: how protocols and models are called and coloured, heat maps, lines of ranks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import PALETTE, draw_placeholder, drawing, legend_below, rule
from workflow_scripts.render.text import number
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import frame

_UNTRAINED = ((PALETTE[1], "o"), (PALETTE[2], "^"), (PALETTE[6], "P"))
_TRAINED = ((PALETTE[0], "s"), (PALETTE[3], "D"), (PALETTE[4], "v"))
IMPORTED = "*"
NAMED = 70  # models that fit below one another: figures with a line for each show the first ones
# Red for opposite, white for unrelated, blue for equal rankings; safe for all eyes.
_COLOURS = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "edgecolors": "white", "linewidth": 0.5}


def measure_ends(values: pd.Series, low: pd.Series, high: pd.Series) -> list[pd.Series]:
    """Measure how far an interval goes down and up; not at all where there is none."""
    return [side.clip(lower=0).fillna(0) for side in (values - low, high - values)]


def shown_protocols(table: pd.DataFrame, grid: GridFile) -> list[str]:
    """List those of the table that figures show, in the order of the grid."""
    present = set(table["protocol"])
    return [protocol for protocol in grid.drawn if protocol in present]


def place_beside(
    table: pd.DataFrame, grid: GridFile, gap: float
) -> Iterator[tuple[pd.DataFrame, float, dict]]:
    """Yield of each shown protocol its rows, how far beside its line they stand, and how they are drawn."""
    protocols = shown_protocols(table, grid)
    for at, protocol in enumerate(protocols):
        colour, marker = choose_look(protocol, grid)
        look = {"fmt": marker, "markersize": 4.5, "color": colour, "label": grid.names[protocol]}
        shift = (at - (len(protocols) - 1) / 2) * gap
        yield table[table["protocol"] == protocol], shift, look


def draw_intervals(
    fig, axes, table: pd.DataFrame, grid: GridFile, ends: Sequence[str], extra: str | None = None
) -> None:
    """Draw values with their intervals, what is `named` down, each protocol in its colour; `extra` as ticks.

    `ends` are the columns with the value and both ends.
    """
    place = {name: at for at, name in enumerate(dict.fromkeys(table["named"]))}
    tick = {"markersize": 9, "markeredgewidth": 1.6}
    for rows, shift, look in place_beside(table, grid, gap=0.22):
        down = rows["named"].map(place) + shift
        value, low, high = (rows[end] for end in ends)
        axes.errorbar(value, down, xerr=measure_ends(value, low, high), linewidth=1, **look)
        if extra:
            axes.plot(rows[extra], down, "|", color=look["color"], **tick)
    if extra:
        axes.plot([], [], "|", color="0.4", label=extra, **tick)
    axes.set_yticks(range(len(place)), list(place), fontsize=8)
    axes.set_ylim(max(len(place), 1) - 0.4, -0.6)
    rule(axes, "x", "0.92")
    legend_below(fig, axes, 3)


def choose_look(protocol: str, grid: GridFile) -> tuple[str, str]:
    """Choose colour and marker, by whether models were trained and how many protocols like it stand before it."""
    trained = grid.protocols[protocol].after_training
    alike = [key for key in grid.drawn if grid.protocols[key].after_training == trained]
    looks = _TRAINED if trained else _UNTRAINED
    return looks[alike.index(protocol) % len(looks)]


def format_size(parameters: float) -> str:
    """Format as 5B, 312M or 76K."""
    for unit, name in ((1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:.3g}{name}"
    return f"{parameters / 1e3:.3g}K"


def shorten_names(table: pd.DataFrame) -> pd.Series:
    """Name models without their organisation; those with imported scores marked, where ours stand beside them."""
    names = table["model"].str.split("/").str[-1] + table["variant"]
    own = table["origin"] == frame.OWN
    return names.where(own, names + IMPORTED) if own.any() else names


def color_families(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Give each family a colour and a marker; models that the models table lacks are 'other'."""
    shapes = "osD^vPX"
    known = {
        name: (PALETTE[at % len(PALETTE)], shapes[(at + at // len(PALETTE)) % len(shapes)])
        for at, name in enumerate(sorted(set(table["family"].dropna())))
    }
    return known | {"other": ("0.6", "h")}


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
    protocols = shown_protocols(rows, grid)
    small = len(names) > 12
    side, columns = max((0.27 if small else 0.72) * len(names), 2.2), max(len(protocols), 1)
    panels = {"ncols": columns, "squeeze": False, "sharey": True, "layout": "compressed"}
    with drawing(files, 1.6 + (side + 0.3) * columns, side + 2.6, **panels) as (fig, (axes,)):
        if not protocols:
            draw_placeholder(axes[0], "No two tasks or texts have scores of the same models.")
            return
        for axis, protocol in zip(axes, protocols, strict=True):
            half = rows[rows["protocol"] == protocol].pivot(
                index="first", columns="second", values="value"
            )
            half = half.reindex(index=list(names), columns=list(names))
            values, shown = half.fillna(half.T).to_numpy(dtype=float), list(names.values())
            mesh = draw_heat_map(axis, values, shown, shown, small=small)
            for at in lines:
                axis.axhline(at, color="black", linewidth=0.6)
                axis.axvline(at, color="black", linewidth=0.6)
            axis.set_aspect("equal")
            axis.set_title(titles[protocol], fontsize=9)
        draw_colour_bar(fig, mesh, list(axes), label)


def title_with_mean(table: pd.DataFrame, grid: GridFile) -> dict[str, str]:
    """Title protocols, each with the mean agreement over all pairs where it has an interval."""
    titles = dict(grid.names)
    for row in table[table["statistic"] == frame.MEAN].itertuples():
        low, high = number(row.families_low), number(row.families_high)
        if low and high:
            mean = f"mean agreement {number(row.value)}\n({low} to {high} over {row.of})"
            titles[row.protocol] += f"\n{mean}"
    return titles


def rank_height(models: int) -> float:
    return 1.6 + 0.17 * min(max(models, 8), NAMED)


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
    first = wide[ends[0]].mean(axis=1).nsmallest(NAMED).index
    models = table.drop_duplicates("label").set_index("label").loc[sorted(first)]
    colours = [looks[family][0] for family in models["family"]]
    rank, low, high = (wide[end].loc[models.index, list(order)].to_numpy(float) for end in ends)
    last = len(order) - 1
    for at in range(last + 1):
        # Beside one another, or the ranges of neighbours would be one bar.
        beside = at + ((rank[:, at] - 1) % 9 - 4) * 0.014
        axis.scatter(np.full(len(rank), at), rank[:, at], 12, colours, linewidths=0)
        axis.vlines(beside, low[:, at], high[:, at], colors=colours, alpha=0.8, linewidth=0.9)
        if at == last:
            continue
        apart = (low[:, at] > high[:, at + 1]) | (high[:, at] < low[:, at + 1])
        for both, colour, strong in zip(rank[:, at : at + 2], colours, apart, strict=True):
            look = {"linewidth": 1.5, "alpha": 1.0} if strong else {"linewidth": 1, "alpha": 0.3}
            axis.plot([at, at + 1], both, color=colour, **look)
    for at, side in {last: "left", 0: "right"}.items():
        named = models.assign(place=rank[:, at], colour=colours)
        # Equal ranks would lie on one another: they share one label.
        for place, tied in named.groupby("place"):
            texts = [", ".join(tied["name"]), f"{place:.0f}"]
            text = " ".join(texts if side == "right" else texts[::-1])
            across = at - 0.09 if side == "right" else at + 0.09
            style: dict[str, Any] = {
                "va": "center",
                "fontsize": 6.8,
                "color": tied["colour"].iloc[0],
            }
            axis.text(across, place, text, ha=side, **style)
    axis.set_xlim(-0.9, last + 0.9)
    axis.set_ylim(np.nanmax(rank) + 0.7, 0.3)
    axis.set_xticks(range(len(order)), list(order.values()))
    axis.set_yticks([])
    axis.xaxis.tick_top()
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


def explain_families(
    fig, axis, table: pd.DataFrame, looks: Mapping[str, tuple[str, str]], columns: int
) -> None:
    for family in sorted(set(table["family"])):
        colour, marker = looks[family]
        axis.plot([], [], marker, color=colour, label=family)
    if table["name"].str.endswith(IMPORTED).any():
        axis.plot([], [], " ", label=f"{IMPORTED} imported scores")
    legend_below(fig, axis, columns)
