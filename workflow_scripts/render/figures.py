"""One look for all figures: readable in print, safe for colour-blind readers, the same bytes each time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import log10
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.files import atomic_path

# Okabe and Ito's palette, its pale yellow left out because it vanishes on paper.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "chorus",
}


def _pyplot():
    """Imported for a figure: tables, whose modules describe their figures too, need not wait for it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


@contextmanager
def drawing(files: Sequence[Path], width: float, height: float, **grid: Any) -> Iterator[tuple]:
    """A figure with one axes, or a grid of them, in the house style, saved once it is drawn."""
    plt = _pyplot()
    with plt.rc_context(_STYLE):
        fig, axes = plt.subplots(figsize=(width, height), **{"layout": "constrained"} | grid)
        try:
            yield fig, axes
            save_both(fig, files)
        finally:
            plt.close(fig)


def rule(axes, axis: str, grey: str = "0.9") -> None:
    """Fine lines behind what is drawn."""
    axes.grid(axis=axis, color=grey, linewidth=0.6)
    axes.set_axisbelow(True)


def set_log_axis(axes, write: Callable[[float], str] | None = None) -> None:
    """Make the x axis logarithmic, and label it as finely as its width and what is drawn so far allow."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axes.set_xscale("log")
    low, high = axes.xaxis.get_data_interval()
    labels = 3 * log10(
        high / low
    )  # a decade has three, of up to six digits, which take two spaces each
    has_room = 2 * labels <= axes.xaxis.get_tick_space()
    decades = LogLocator(subs=(1, 2, 5) if has_room else (1,))
    axes.xaxis.set_major_locator(MaxNLocator("auto") if high < 4 * low else decades)
    if write:
        axes.xaxis.set_major_formatter(lambda value, _: write(value))
    axes.xaxis.set_minor_formatter(NullFormatter())


def pick_model_colours(models: list[str]) -> dict[str, object]:
    """The palette while it lasts, an even ramp of one colour map beyond."""
    if len(models) <= len(PALETTE):
        return dict(zip(models, PALETTE, strict=False))
    ramp = _pyplot().get_cmap("viridis")
    return {model: ramp(at / (len(models) - 1)) for at, model in enumerate(models)}


def save_both(fig, files: Sequence[Path]) -> None:
    """Save the figure as PDF and PNG, without a date or a version: the same figure has the same bytes."""
    nothing = {"pdf": ("CreationDate", "Producer", "Creator"), "png": ("Software",)}
    for path, (kind, keys) in zip(files, nothing.items(), strict=True):
        with atomic_path(path) as temporary:
            fig.savefig(temporary, format=kind, metadata=dict.fromkeys(keys))


def draw_placeholder(axes, sentence: str) -> None:
    """Where a figure has nothing to show, it says why."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", wrap=True, transform=axes.transAxes)


def legend_below(fig, axes, ncols: int, **how: Any) -> None:
    """What the axes show, below the figure: in so many columns, or as many as its width has room for."""
    handles, names = axes.get_legend_handles_labels()
    for abreast in range(ncols, 0, -1):
        below = fig.legend(handles, names, loc="outside lower center", ncols=abreast, **how)
        if below.get_window_extent().width <= fig.bbox.width:
            return
        if abreast > 1:
            below.remove()


def save_lines(
    table: pd.DataFrame,
    shown: str,
    draw: Callable[[Any, pd.DataFrame], None],
    pdf: Path,
    png: Path,
    *,
    width: float = 6.5,
    height: float = 3.6,
    ncols: int = 1,
) -> None:
    """Axes that `draw` fills with what the column `shown` holds, and a legend below.

    Where it holds nothing, because all cells are broken, the figure says so.
    """
    with drawing([pdf, png], width, height) as (fig, axes):
        if table[shown].isna().all():
            draw_placeholder(axes, "Nothing was measured: all cells of this figure are broken.")
        else:
            draw(axes, table)
            axes.set_axisbelow(True)
            legend_below(fig, axes, ncols)


def label_missing(axes, names: Iterable[str]) -> None:
    """In the legend: what was asked for, and has no line because its cell is broken."""
    for name in names:
        axes.plot([], [], " ", label=f"{name}: not measured")
