"""Ranks side by side, a line for each model: what the figures of rankings have in common."""

from math import ceil

import numpy as np

NAMED = 70  # names that fit below one another; of more models every second is named, or every third
CROWD = (
    300  # models, of more of which only named ones have a line of their own: all of them are a haze
)


def fineness(most: int) -> float:
    """How much thinner lines and dots are drawn, the more models there are."""
    return min(1.0, NAMED / most)


def are_named(ranks: np.ndarray) -> np.ndarray:
    """Of very many models some, evenly by rank; none without a rank."""
    return (ranks - 1) % ceil(np.nanmax(ranks, initial=1) / NAMED) == 0


def draw_lines(
    axis, ranks: np.ndarray, low: np.ndarray, high: np.ndarray, colours: np.ndarray
) -> None:
    """Models in rows, columns side by side; a line is strong where the ranges of its two ranks do not meet.

    Of a crowd the lines are of the models that are named in the first column.
    """
    from matplotlib.collections import LineCollection

    fine, crowd = fineness(len(ranks)), len(ranks) > CROWD
    for at, column in enumerate(ranks.T):
        area = 12 * max(fine, 0.2 if not crowd else 0.05)
        axis.scatter(np.full(len(ranks), at), column, area, colours, zorder=4, linewidths=0,
                     rasterized=crowd)  # fmt: skip
    if crowd:
        for at in range(ranks.shape[1] - 1):
            every = [[(at, one), (at + 1, other)] for one, other in ranks[:, at : at + 2]]
            haze = {"colors": "0.4", "linewidths": 0.5, "alpha": max(40 / len(ranks), 0.01)}
            axis.add_collection(LineCollection(every, **haze, rasterized=True))
        named = are_named(ranks[:, 0])
        ranks, low, high, colours = (one[named] for one in (ranks, low, high, colours))
        fine = 1.0
    for at in range(ranks.shape[1] - 1):
        moved = (low[:, at] > high[:, at + 1]) | (high[:, at] < low[:, at + 1])
        for strong, width, alpha in ((False, 1.0, 0.3), (True, 1.5, 1.0)):
            lines = ranks[moved == strong, at : at + 2]
            axis.add_collection(
                LineCollection(
                    [[(at, one), (at + 1, other)] for one, other in lines],
                    colors=colours[moved == strong],
                    linewidths=width * max(fine, 0.4),
                    alpha=alpha * max(fine, 0.5),
                    zorder=2 + strong,
                )
            )


def draw_range(axis, across, low, high, colours: np.ndarray, *, alpha: float, width: float) -> None:
    """How far each rank reaches, beside its column; of very many models they would run into one another."""
    if len(colours) <= 2 * NAMED:
        axis.vlines(across, low, high, colors=colours, alpha=alpha, linewidth=width)
