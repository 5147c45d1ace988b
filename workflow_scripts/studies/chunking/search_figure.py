"""Figure: what plans are predicted to cost at each depth, and how true that is."""

from pathlib import Path

import pandas as pd
from matplotlib.ticker import LogLocator

from workflow_scripts.render.figures import PALETTE, drawing, figure_of, legend_below, say_empty
from workflow_scripts.render.text import fixed
from workflow_scripts.studies.chunking.search import TABLE

_COLOURS = {"chunks": PALETTE[0], "pruned": PALETTE[3]}


def rank_correlation(rows: pd.DataFrame) -> float:
    """Spearman's, between predicted and measured; not a number of fewer than three plans."""
    if len(rows) < 3:
        return float("nan")
    return rows["predicted"].rank().corr(rows["ratio"].rank())


def write_search_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """A row a model: on the left the front and what was measured, on the right the one against the other."""
    models = list(dict.fromkeys(table["model"]))
    rows = max(1, len(models))
    size = 7.2, 0.8 + 3.2 * rows
    with drawing(pdf, png, *size, nrows=rows, ncols=2, squeeze=False) as (fig, grid):
        if not models:
            for axes in grid[0]:
                say_empty(axes, "The config names no model to search plans for.")
        for (left, right), model in zip(grid, models, strict=False):
            of = table[(table["model"] == model) & table["kind"].notna()]
            _draw_front(left, of)
            _draw_truth(right, of[of["ratio"].notna()].drop_duplicates("plan"))
            left.set_title(model, fontsize=9, loc="left")
        legend_below(fig, grid[0][0], 2)


def _draw_front(axes, rows: pd.DataFrame) -> None:
    for kind, ours in rows.groupby("kind"):
        best = ours[ours["role"].isin(["front", "proposed"])].groupby("depth")["predicted"].min()
        axes.plot(best.index, best, color=_COLOURS[kind], label=f"{kind}: least predicted")
        for role, marker in (("proposed", "o"), ("evenly spaced", "x")):
            of = ours[ours["role"] == role]
            axes.plot(
                *(of["depth"], of["ratio"], marker),
                color=_COLOURS[kind],
                markersize=5,
                label=f"{kind}: {role}, measured",
            )
    axes.invert_xaxis()
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("layers that run one after the other")
    axes.set_ylabel("perplexity, times the unchanged")
    _in_ratios(axes.yaxis, axes.set_yscale)


def _draw_truth(axes, rows: pd.DataFrame) -> None:
    for kind, ours in rows.groupby("kind"):
        rank = fixed(rank_correlation(ours), ".2f")
        axes.plot(
            *(ours["predicted"], ours["ratio"], "o"),
            color=_COLOURS[kind],
            markersize=4,
            label=f"{kind}: rank correlation {rank}",
        )
    ends = (
        min(rows["predicted"].min(), rows["ratio"].min()),
        max(rows["predicted"].max(), rows["ratio"].max()),
    )
    axes.plot(ends, ends, color="0.6", linewidth=0.8)
    axes.set_xlabel("predicted, times the unchanged")
    axes.set_ylabel("measured, times the unchanged")
    _in_ratios(axes.xaxis, axes.set_xscale)
    _in_ratios(axes.yaxis, axes.set_yscale)
    axes.legend(loc="upper left", fontsize=8)


def _in_ratios(axis, set_scale) -> None:
    """Powers of ten, and steps between them where there are few."""
    set_scale("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5) if high < 30 * low else (1,)))
    axis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    axis.set_minor_formatter(lambda value, _: "")
    axis.axes.grid(color="0.9", linewidth=0.6)
    axis.axes.set_axisbelow(True)


FIGURE = figure_of(TABLE, write_search_figure)
