"""What the figures of a grid share: how protocols and models are called and coloured, heat maps, lines of ranks."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import PALETTE, drawing, legend_below, say_empty
from workflow_scripts.render.text import number
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import frame

_AS_THEY_ARE = ((PALETTE[1], "o"), (PALETTE[2], "^"), (PALETTE[6], "P"))
_TRAINED = ((PALETTE[0], "s"), (PALETTE[3], "D"), (PALETTE[4], "v"))
IMPORTED = "*"
MARK_NOTE = f"{IMPORTED} imported scores"
NAMED = 70  # names that fit below one another; of more models every second is named, or every third
# Red for opposite, white for unrelated, blue for equal rankings; safe for all eyes.
_COLOURS = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "edgecolors": "white", "linewidth": 0.5}


def measure_ends(values: pd.Series, low: pd.Series, high: pd.Series) -> list[pd.Series]:
    """How far an interval goes down and up; not at all where there is none."""
    return [side.clip(lower=0).fillna(0) for side in (values - low, high - values)]


def interval_over(table: pd.DataFrame) -> str:
    """What the intervals of a figure are over, which its table says row by row."""
    over = list(dict.fromkeys(table["of"].dropna()))
    return f"with its 95% interval over {' or '.join(over)}" if over else "without an interval"


def shown_protocols(table: pd.DataFrame, grid: GridFile) -> list[str]:
    """Those of the table that figures show, in the order of the grid."""
    found = set(table["protocol"])
    return [protocol for protocol in grid.drawn if protocol in found]


def title_protocols(table: pd.DataFrame, grid: GridFile) -> dict[str, str]:
    """Each protocol's name; in the grid of a run with what kind of scores it shows after training."""
    if not grid.run:
        return grid.names
    column = "origins" if "origins" in table else "origin"
    found = {}
    for protocol, rows in table.groupby("protocol"):
        origins = {name for cell in rows[column] for name in cell.split()}
        kind = (
            "raw" if origins <= {frame.OWN} else "ours raw" if frame.OWN in origins else "imported"
        )
        trained = grid.protocols[protocol].after_training
        found[protocol] = grid.names[protocol] + (f" ({kind} scores)" if trained else "")
    return found


def place_beside(
    table: pd.DataFrame, grid: GridFile, gap: float
) -> Iterator[tuple[str, pd.DataFrame, float, dict]]:
    """Each shown protocol, its rows, how far beside its line they stand, and how they are drawn."""
    protocols, said = shown_protocols(table, grid), title_protocols(table, grid)
    for at, protocol in enumerate(protocols):
        colour, marker = choose_look(protocol, grid)
        look = {"fmt": marker, "markersize": 4.5, "color": colour, "label": said[protocol]}
        shift = (at - (len(protocols) - 1) / 2) * gap
        yield protocol, table[table["protocol"] == protocol], shift, look


def choose_look(protocol: str, grid: GridFile) -> tuple[str, str]:
    """Colour and marker, by whether models were trained and how many protocols like it stand before it."""
    trained = grid.protocols[protocol].after_training
    alike = [key for key in grid.drawn if grid.protocols[key].after_training == trained]
    looks = _TRAINED if trained else _AS_THEY_ARE
    return looks[alike.index(protocol) % len(looks)]


def format_size(parameters: float) -> str:
    """5B, 312M or 76K."""
    for unit, name in ((1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:.3g}{name}"
    return f"{parameters / 1e3:.3g}K"


def shorten_names(table: pd.DataFrame) -> pd.Series:
    """Models without their organisation; those with imported scores marked, where ours stand beside them."""
    names = table["model"].str.split("/").str[-1] + table["variant"]
    own = table["origin"] == frame.OWN
    return names.where(own, names + IMPORTED) if own.any() else names


def color_families(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Colour and marker of each family, no two alike of up to 49; models that the models table lacks are 'other'."""
    shapes = "osD^vPX"
    known = {
        name: (PALETTE[at % len(PALETTE)], shapes[(at + at // len(PALETTE)) % len(shapes)])
        for at, name in enumerate(sorted(set(table["family"].dropna())))
    }
    return known | {"other": ("0.6", "h")}


def draw_heat_map(
    axis, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, small: bool
):
    """A square of a colour for each number from -1 to 1, with two decimals; a dash where there is none."""
    mesh = axis.pcolormesh(values, **_COLOURS)
    for (down, across), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
        colour = "white" if abs(value) > 0.6 else "black"
        place = {"ha": "center", "va": "center", "fontsize": 5.5 if small else 7.5}
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
    """A square per protocol of the numbers of pairs `first` and `second`; names may have one with themselves."""
    protocols = shown_protocols(rows, grid)
    small = len(names) > 12
    side = max((0.27 if small else 0.72) * len(names), 2.2)
    columns = max(len(protocols), 1)
    panels = {"ncols": columns, "squeeze": False, "sharey": True, "layout": "compressed"}
    with drawing(files, 1.6 + (side + 0.3) * columns, side + 2.6, **panels) as (fig, (axes,)):
        if not protocols:
            say_empty(axes[0], "No two tasks or texts have scores of the same models.")
            return
        for axis, protocol in zip(axes, protocols, strict=True):
            half = rows[rows["protocol"] == protocol].pivot(
                index="first", columns="second", values="value"
            )
            half = half.reindex(index=list(names), columns=list(names))
            values = half.fillna(half.T).to_numpy(dtype=float)
            mesh = draw_heat_map(
                axis, values, list(names.values()), list(names.values()), small=small
            )
            for at in lines:
                axis.axhline(at, color="black", linewidth=0.6)
                axis.axvline(at, color="black", linewidth=0.6)
            axis.set_aspect("equal")
            axis.set_title(titles[protocol], fontsize=9)
        draw_colour_bar(fig, mesh, list(axes), label)


def title_with_mean(table: pd.DataFrame, grid: GridFile) -> dict[str, str]:
    """Title protocols, each with the mean agreement over all pairs where it has an interval."""
    found = title_protocols(table, grid)
    for row in table[table["statistic"] == frame.MEAN].itertuples():
        low, high = number(row.families_low), number(row.families_high)
        if low and high:
            mean = f"\nmean agreement {number(row.value)}\n({low} to {high} over {row.of})"
            found[row.protocol] += mean
    return found


class RankedColumns(NamedTuple):
    """Ranks side by side, models in rows, with between which ranks each lies."""

    names: Sequence[str]
    families: Sequence[str]
    ranks: np.ndarray
    low: np.ndarray
    high: np.ndarray


def rank_height(models: int) -> float:
    return 1.6 + 0.17 * min(max(models, 8), NAMED)


def draw_ranks(axis, columns: RankedColumns, looks: Mapping[str, tuple[str, str]]) -> None:
    """A line per model, strong where the ranges of its two ranks do not meet; names at both ends."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    _, families, ranks, low, high = columns
    colours = np.array([to_rgb(looks[family][0]) for family in families])
    most = int(np.nanmax(ranks, initial=1))
    fine, last = min(1.0, NAMED / most), ranks.shape[1] - 1
    for at, column in enumerate(ranks.T):
        axis.scatter(np.full(len(ranks), at), column, 12 * max(fine, 0.2), colours, linewidths=0)
        if most <= 2 * NAMED:
            # Beside one another, or the ranges of neighbours would be one bar.
            beside = at + ((column - 1) % 9 - 4) * 0.014
            axis.vlines(beside, low[:, at], high[:, at], colors=colours, alpha=0.8, linewidth=0.9)
    for at in range(last):
        moved = (low[:, at] > high[:, at + 1]) | (high[:, at] < low[:, at + 1])
        for strong, width, alpha in ((False, 1.0, 0.3), (True, 1.5, 1.0)):
            chosen = moved == strong
            lines = [[(at, one), (at + 1, two)] for one, two in ranks[chosen, at : at + 2]]
            look = {"linewidths": width * max(fine, 0.4), "alpha": alpha * max(fine, 0.5)}
            axis.add_collection(LineCollection(lines, colors=colours[chosen], **look))
    for at, side in ((0, "right"), (last, "left")) if last else ((0, "right"),):
        of_end = pd.DataFrame({"rank": ranks[:, at], "name": columns.names, "family": families})
        # Equal ranks would lie on one another: they share one label; of very many models some have one.
        for rank, tied in of_end[(of_end["rank"] - 1) % ceil(most / NAMED) == 0].groupby("rank"):
            name = ", ".join(tied["name"])
            text = f"{name} {rank:.0f}" if side == "right" else f"{rank:.0f} {name}"
            across = at - 0.09 if side == "right" else at + 0.09
            colour = looks[tied["family"].iloc[0]][0]
            axis.text(across, rank, text, ha=side, va="center", fontsize=6.8, color=colour)
    axis.set_xlim(-0.9, last + 0.9)
    axis.set_ylim(most + 0.7, 1 - 0.7 / fine)
    axis.set_yticks([])
    axis.xaxis.tick_top()
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)


def explain_families(
    fig, axis, table: pd.DataFrame, looks: Mapping[str, tuple[str, str]], columns: int
) -> None:
    for family in [name for name in looks if name in set(table["family"])]:
        colour, marker = looks[family]
        axis.plot([], [], marker, color=colour, label=family)
    if table["name"].str.endswith(IMPORTED).any():
        axis.plot([], [], " ", label=MARK_NOTE)
    legend_below(fig, axis, columns)
