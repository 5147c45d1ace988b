"""Intervals of mean agreement: over models, over items, and of the difference of two protocols."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import mean_agreement, mean_of_pairs
from workflow_scripts.stats.checks import TAILS, checked_draws, checked_errors, checked_scores
from workflow_scripts.stats.noise import redraws
from workflow_scripts.stats.orders import orders, tau_b


class Interval(NamedTuple):
    """Both ends; NaN where the interval cannot be computed."""

    low: float
    high: float


UNKNOWN = Interval(float("nan"), float("nan"))


def percentiles(values: np.ndarray) -> Interval:
    """The middle 95% of the values; NaN where more than half of them are not defined."""
    known = values[~np.isnan(values)]
    if known.size * 2 < values.size:
        return UNKNOWN
    low, high = np.quantile(known, TAILS)
    return Interval(float(low), float(high))


def model_draws(models: int, draws: int, seed: int) -> np.ndarray:
    """How often each model is in each bootstrap sample: draws in rows."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(models, np.full(models, 1 / models), size=checked_draws(draws))


def bootstrapped_means(scores: pd.DataFrame, draws: int, seed: int) -> np.ndarray:
    """Mean agreement in samples of as many models, drawn with replacement.

    A pair of models i, j that are in the sample c_i and c_j times counts c_i c_j times. Copies of one
    model are tied on every task, and tau-b leaves such pairs out, so this is tau-b of the sample.
    """
    return np.array([mean_of_pairs(tau) for tau in _drawn_matrices(scores, draws, seed)])


def bootstrapped_by_task(scores: pd.DataFrame, draws: int, seed: int) -> np.ndarray:
    """Each task's mean tau with the others in the same samples: draws in rows, tasks in columns."""
    taus = _drawn_matrices(scores, draws, seed).copy()
    taus[:, range(taus.shape[1]), range(taus.shape[1])] = np.nan
    known = (~np.isnan(taus)).sum(axis=2)
    return np.divide(
        np.nansum(taus, axis=2), known, out=np.full(known.shape, np.nan), where=known > 0
    )


def _drawn_matrices(scores: pd.DataFrame, draws: int, seed: int) -> np.ndarray:
    values = checked_scores(scores)
    return _matrices(values.tobytes(), values.shape, draws, seed)


@lru_cache(maxsize=4)  # each protocol is asked for by itself, by task, and beside the others
def _matrices(values: bytes, shape: tuple[int, int], draws: int, seed: int) -> np.ndarray:
    """Kendall's tau-b between all tasks in each sample.

    All samples at once: with the counts of a sample in each row of C and in F_i, for each model
    j > i, what the pair i, j adds to each sum over pairs, these sums are sum_i c_i (C F_i).
    """
    scores = np.frombuffer(values).reshape(shape)
    models, tasks = shape
    # Single precision holds whole numbers up to 2^24, and what one model adds is far below that.
    counts = model_draws(models, draws, seed).astype(np.float32)
    one, other = np.triu_indices(tasks, 1)
    # Pairs that a task orders are counted among those that another has measured: mostly all have.
    known, of_task = np.unique(~np.isnan(scores), axis=1, return_inverse=True)
    sums = np.zeros((draws, len(one) + tasks * known.shape[1]))
    for at in range(models - 1):
        signs = np.nan_to_num(np.sign(scores[at] - scores[at + 1 :])).astype(np.float32)
        ordered = np.abs(signs)[:, :, None] * (known[at] & known[at + 1 :])[:, None]
        added = np.hstack([signs[:, one] * signs[:, other], ordered.reshape(len(signs), -1)])
        sums += counts[:, [at]] * (counts[:, at + 1 :] @ added)
    ordered = sums[:, len(one) :].reshape(draws, tasks, -1)[:, :, of_task]
    alike = ordered.copy()  # pairs in the same order minus pairs in opposite order
    alike[:, one, other] = alike[:, other, one] = sums[:, : len(one)]
    with np.errstate(invalid="ignore", divide="ignore"):
        taus = alike / np.sqrt(ordered * ordered.swapaxes(1, 2))
    taus.flags.writeable = False
    return taus


def interval_over_models(scores: pd.DataFrame, draws: int, seed: int = 0) -> Interval:
    """Percentile interval of the mean agreement, had other models of the same kind been taken."""
    if len(scores) < 3:
        return UNKNOWN  # two models are one pair, which a sample holds or does not
    return percentiles(bootstrapped_means(scores, draws, seed))


def interval_over_items(
    scores: pd.DataFrame, stderrs: pd.DataFrame, draws: int, seed: int = 0
) -> Interval:
    """Interval of the mean agreement, had each task been asked with other items.

    Scores are drawn again within their standard errors. A redraw is noisier than what it is drawn
    from, and agrees less; so the spread of the redraws is taken, and set around the measured value m:
    [m + q_low - mean, m + q_high - mean]. Unknown where any score lacks its standard error.
    """
    low, high = _around(mean_agreement(scores), _redrawn_means(scores, stderrs, draws, seed))
    return Interval(max(low, -1.0), min(high, 1.0))


def _redrawn_means(
    scores: pd.DataFrame, stderrs: pd.DataFrame, draws: int, seed: int
) -> np.ndarray:
    """The mean agreement of each redraw; unknown where any score lacks its standard error."""
    if (~np.isnan(checked_scores(scores)) & np.isnan(checked_errors(stderrs, scores))).any():
        return np.full(draws, np.nan)
    drawn = redraws(scores, stderrs, draws, seed)
    return np.array([mean_of_pairs(tau_b(orders(values))) for values in drawn])


def _around(value: float, drawn: np.ndarray) -> Interval:
    """The spread of what was drawn, set around what was measured."""
    if np.isnan(drawn).all():
        return UNKNOWN
    low, high = percentiles(drawn)
    middle = value - np.nanmean(drawn)
    return Interval(float(low + middle), float(high + middle))


class Difference(NamedTuple):
    """How a mean differs between two protocols, second minus first, with its interval over models."""

    value: float
    low: float
    high: float


def difference_of_agreement(
    first: pd.DataFrame, second: pd.DataFrame, draws: int, seed: int = 0
) -> Difference:
    """Mean agreement of `second` minus that of `first`, both over the same models.

    The interval is paired: each bootstrap sample of models is taken under both protocols at once.
    """
    if not first.index.equals(second.index):
        raise ValueError(
            "second has other models than first; expected the same, in the same order."
        )
    value = mean_agreement(second) - mean_agreement(first)
    if len(first) < 3:
        return Difference(value, *UNKNOWN)
    drawn = bootstrapped_means(second, draws, seed) - bootstrapped_means(first, draws, seed)
    return Difference(value, *percentiles(drawn))


def difference_over_items(
    first: pd.DataFrame,
    first_stderrs: pd.DataFrame,
    second: pd.DataFrame,
    second_stderrs: pd.DataFrame,
    draws: int,
    seed: int = 0,
) -> Interval:
    """Interval of that difference for these very models, had each task been asked with other items.

    As `interval_over_items`. The two protocols are drawn by themselves; where both were asked the same
    items their errors go together in part, so that the interval is rather too wide than too narrow.
    """
    moved = _redrawn_means(second, second_stderrs, draws, seed + 1)
    moved = moved - _redrawn_means(first, first_stderrs, draws, seed)
    return _around(mean_agreement(second) - mean_agreement(first), moved)
