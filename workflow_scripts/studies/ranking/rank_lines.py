"""Ranks side by side, a line for each model: what the figures of rankings have in common."""

import numpy as np

NAMED = 70  # names that fit below one another; of more models every second is named, or every third


def fineness(most: int) -> float:
    """How much thinner lines and dots are drawn, the more models there are."""
    return min(1.0, NAMED / most)


def draw_lines(
    axis, ranks: np.ndarray, low: np.ndarray, high: np.ndarray, colours: np.ndarray
) -> None:
    """Models in rows, columns side by side; a line is strong where the ranges of its two ranks do not meet."""
    from matplotlib.collections import LineCollection

    fine = fineness(len(ranks))
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
    for at, column in enumerate(ranks.T):
        area = 12 * max(fine, 0.2)
        axis.scatter(np.full(len(ranks), at), column, area, colours, zorder=4, linewidths=0)


def draw_range(axis, across, low, high, colours: np.ndarray, *, alpha: float, width: float) -> None:
    """How far each rank reaches, beside its column; of very many models they would run into one another."""
    if len(colours) <= 2 * NAMED:
        axis.vlines(across, low, high, colors=colours, alpha=alpha, linewidth=width)
