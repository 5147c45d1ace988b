"""Draw figures in one style: readable in print, safe for colour-blind readers, reproducible byte for byte."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.files import open_atomic_path

# Okabe and Ito's palette without its pale yellow, which is hard to see on paper.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_STYLE = {
    "font.family": "DejaVu Sans",  # shipped with matplotlib, so figures are equal on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "chorus",
}


def _import_pyplot():
    """Import pyplot when a figure is drawn, since the import is slow."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


@contextmanager
def open_figure(
    files: Sequence[Path], width: float, height: float, **subplots: Any
) -> Iterator[tuple]:
    """Yield a figure with one axes or a grid of axes in the project's style, and save it as PDF and PNG.

    Width and height are in inches, `subplots` are arguments of pyplot.subplots. The files have no date or version, so
    that equal figures have equal bytes.
    """
    plt = _import_pyplot()
    with plt.rc_context(_STYLE):
        fig, axes = plt.subplots(figsize=(width, height), **subplots)
        try:
            yield fig, axes
            no_metadata = [
                dict.fromkeys(("CreationDate", "Producer", "Creator")),
                {"Software": None},
            ]
            for path, kind, metadata in zip(files, ("pdf", "png"), no_metadata, strict=True):
                with open_atomic_path(path) as temporary:
                    fig.savefig(temporary, format=kind, metadata=metadata, bbox_inches="tight")
        finally:
            plt.close(fig)


def draw_grid_lines(axes, axis: str, **style: Any) -> None:
    """Draw fine grid lines behind the data."""
    axes.grid(axis=axis, **style)
    axes.set_axisbelow(True)


def set_log_axis(axes, format_label: Callable[[float], str] | None = None) -> None:
    """Make the x axis logarithmic; with labels at 1, 2 and 5 if the data drawn so far span less than a factor of 30."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    low, high = axes.xaxis.get_data_interval()
    if high < 30 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if format_label:
        axes.xaxis.set_major_formatter(lambda value, _: format_label(value))


def pick_model_colours(names: Iterable[str]) -> dict[str, object]:
    """Pick a colour for each model from the palette, or from a colour map if there are more models than colours."""
    models = list(dict.fromkeys(names))
    if len(models) <= len(PALETTE):
        return dict(zip(models, PALETTE, strict=False))
    colour_map = _import_pyplot().get_cmap("viridis")
    return {model: colour_map(index / (len(models) - 1)) for index, model in enumerate(models)}


def add_counts(names: Iterable[str], counts: pd.Series) -> list[str]:
    """Add to each name its number of items if it is known: `name (n = 1,000)`."""
    pairs = zip(names, counts.astype(float), strict=True)
    return [f"{name} (n = {n:,.0f})" if n > 0 else name for name, n in pairs]


def draw_placeholder(axes, sentence: str) -> None:
    """Write a sentence in place of a plot that has no data."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", wrap=True, transform=axes.transAxes)


def draw_legend_below(fig, axes, ncols: int) -> None:
    """Place the legend of the axes below the figure."""
    handles, names = axes.get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=ncols)
