"""What a limited number of items, and another training, do to scores and rankings."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_draws, checked_scores
from workflow_scripts.stats.orders import Orders, among, orders, tau_b_by_task
from workflow_scripts.stats.score_errors import ScoreErrors


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


def noise_ceiling(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """How well each task agrees with itself when items and trainings are drawn again: a row for each.

    `own_redraw` is the mean over draws of tau_b(x, x'), of the measured scores and a draw around them.
    `two_redraws` is the mean of tau_b(x', x''), both sides drawn, as two benchmarks of the same content
    would agree, each with items of its own. Cells without an error are left out; NaN where fewer than
    two models are left. Of many models a sample is drawn.
    """
    errors = errors.sampled()
    measured = orders(checked_scores(errors.scores.where(errors.stderrs.notna())))
    own, two = np.zeros((2, errors.scores.shape[1]))
    previous = None
    # One draw more than asked for, since each is also set beside the one before it.
    for drawn in errors.drawn(checked_draws(draws) + 1, seed):
        now = orders(drawn)
        if previous is not None:
            own += tau_b_by_task(measured, now)
            two += tau_b_by_task(previous, now)
        previous = now
    return pd.DataFrame(
        {"own_redraw": own / draws, "two_redraws": two / draws}, index=errors.scores.columns
    )


def ceiling_of_pairs(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """What two tasks could agree at most if they differed in nothing but items and trainings: sqrt(r_a r_b).

    r is the agreement of two redraws of each task, its reliability, over the models that both tasks
    have. As a correlation of two noisy measures of one thing is the root of the product of their
    reliabilities, so is tau nearly; a task agrees better with one that is measured well than with its
    own like. The redraws start from scores that hold such errors already, so that the ceiling is
    generous for small tasks, never too low. Of many models a sample is drawn, a fifth as often: what is
    unsure is then which models it has.
    """
    every, errors = errors, errors.sampled()
    draws = draws if errors is every else max(draws // 5, 1)
    scores = errors.scores
    # Mostly all tasks have the same models.
    sets, of_task = np.unique(scores.notna().to_numpy(), axis=1, return_inverse=True)
    redrawn = np.zeros((scores.shape[1], sets.shape[1]))
    previous: list[Orders] = []
    for drawn in errors.drawn(checked_draws(draws) + 1, seed):
        whole = orders(drawn)
        now = [among(whole, have) for have in sets.T]
        for at, pair in enumerate(zip(previous, now, strict=False)):
            redrawn[:, at] += tau_b_by_task(*pair)
        previous = now
    reliability = (redrawn / draws).clip(min=0)[:, of_task]
    ceiling = np.sqrt(reliability * reliability.T)
    return pd.DataFrame(ceiling, index=scores.columns, columns=scores.columns)
