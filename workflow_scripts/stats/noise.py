"""What the limited number of test items does to scores and rankings."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_draws, checked_errors, checked_scores
from workflow_scripts.stats.orders import orders, tau_b_by_task


def standard_error(
    value: np.ndarray, n: np.ndarray, lowest: np.ndarray | float = 0.0
) -> np.ndarray:
    """Standard error of a score on `n` items, from the score alone.

    For a share p of right answers, lowest 0: sqrt(p (1 - p) / n). For a coefficient r on [-1, 1] such
    as Matthews', lowest -1: sqrt((1 - r^2) / n), which is exact where both classes are equally
    frequent, since r = 2p - 1 there, and near it elsewhere. In one formula, with highest value 1:
    sqrt((1 - v) (v - lowest) / n).
    """
    value, n, lowest = (np.asarray(x, dtype=float) for x in (value, n, lowest))
    if (n < 1).any():
        raise ValueError(f"n is {n[n < 1].flat[0]:g}; expected a whole number of at least 1.")
    outside = (value > 1) | (value < lowest)
    if outside.any():
        raise ValueError(
            f"value is {np.broadcast_to(value, outside.shape)[outside].flat[0]:g}; expected a fraction"
            " of at most 1 and not below the metric's lowest value."
        )
    return np.sqrt((1 - value) * (value - lowest) / n)


def redraws(
    scores: pd.DataFrame, stderrs: pd.DataFrame, draws: int, seed: int
) -> Iterator[np.ndarray]:
    """`draws` times the scores, each cell moved by its standard error times a normal number.

    A cell without a standard error is NaN in every draw: what is not known is not drawn.
    """
    values, errors = checked_scores(scores), checked_errors(stderrs, scores)
    generator = np.random.default_rng(seed)
    for _ in range(checked_draws(draws)):
        yield values + errors * generator.standard_normal(values.shape)


def noise_ceiling(
    scores: pd.DataFrame, stderrs: pd.DataFrame, draws: int, seed: int = 0
) -> pd.DataFrame:
    """How well each task agrees with itself when its items are drawn again: one row per task.

    `own_redraw` is the mean over draws of tau_b(x, x + s e), with the measured scores x, their
    standard errors s, and e standard normal. `two_redraws` is the mean of tau_b(x + s e, x + s e'),
    both sides drawn, as two benchmarks of the same content would agree, each with items of its own.
    Cells without a standard error are left out; NaN where fewer than two models are left.
    """
    values, errors = checked_scores(scores), checked_errors(stderrs, scores)
    measured = orders(np.where(np.isnan(errors), np.nan, values))
    own, two = np.zeros((2, values.shape[1]))
    previous = None
    # One draw more than asked for, since each is also set beside the one before it.
    for drawn in redraws(scores, stderrs, checked_draws(draws) + 1, seed):
        now = orders(drawn)
        if previous is not None:
            own += tau_b_by_task(measured, now)
            two += tau_b_by_task(previous, now)
        previous = now
    return pd.DataFrame(
        {"own_redraw": own / draws, "two_redraws": two / draws}, index=scores.columns
    )


def ceiling_of_pairs(two_redraws: pd.Series) -> pd.DataFrame:
    """What two tasks could agree at most if they differed in nothing but noise: sqrt(r_a r_b).

    r is the agreement of two redraws of each task, its reliability. As a correlation of two noisy
    measures of one thing is the root of the product of their reliabilities, so is tau nearly; a task
    agrees better with one that is measured well than with its own like. The redraws start from scores
    that hold noise already, so that the ceiling is generous for very noisy tasks, never too low.
    """
    reliability = two_redraws.clip(lower=0)
    ceiling = np.sqrt(np.outer(reliability, reliability))
    return pd.DataFrame(ceiling, index=two_redraws.index, columns=two_redraws.index)
