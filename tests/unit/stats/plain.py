"""The statistics of agreement written out as they are defined, slowly: what the fast ones must equal."""

from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.stats import t

from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import ranks
from workflow_scripts.stats.score_errors import ScoreErrors


def tau_b(one: np.ndarray, other: np.ndarray) -> float:
    """Over all pairs of models that have both scores, each pair in either order."""
    both = ~(np.isnan(one) | np.isnan(other))
    first, second = (np.sign(np.subtract.outer(x[both], x[both])) for x in (one, other))
    untied = (first != 0).sum() * (second != 0).sum()
    return (first * second).sum() / np.sqrt(untied) if untied else np.nan


def matrix(values: np.ndarray) -> np.ndarray:
    return np.array([[tau_b(one, other) for other in values.T] for one in values.T])


def mean_of_pairs(taus: np.ndarray) -> float:
    known = [tau for tau in taus[np.triu_indices(len(taus), 1)] if not np.isnan(tau)]
    return sum(known) / len(known) if known else np.nan


def over_items(errors: ScoreErrors, draws: int, seed: int) -> list[float]:
    means = [mean_of_pairs(matrix(drawn)) for drawn in errors.drawn(draws, seed)]
    value = mean_of_pairs(matrix(errors.scores.to_numpy()))
    low, high = np.nanquantile(means, [0.025, 0.975]) - np.nanmean(means)
    return [max(value + min(low, 0), -1), min(value + max(high, 0), 1)]


def redrawn(errors: ScoreErrors, draws: int, seed: int) -> list[float]:
    drawn = list(errors.drawn(draws + 1, seed))[1:]
    measured = errors.scores.where(errors.stderrs.notna()).to_numpy()
    return [
        np.mean([tau_b(of_task, one[:, at]) for one in drawn])
        for at, of_task in enumerate(measured.T)
    ]


def ceilings(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    drawn = list(errors.drawn(draws + 1, seed))
    known = errors.scores.notna().to_numpy()

    def reliability(task: int, other: int) -> float:
        of = known[:, other]
        taus = [tau_b(one[of, task], two[of, task]) for one, two in pairwise(drawn)]
        return np.clip(np.mean(taus), 0, None)

    tasks = range(known.shape[1])
    return np.array(
        [[np.sqrt(reliability(a, b) * reliability(b, a)) for a in tasks] for b in tasks]
    )


def rank_ranges(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    def ranked(values: np.ndarray) -> np.ndarray:
        frame = pd.DataFrame(values, errors.scores.index, errors.scores.columns)
        return ranks(principal_components(frame).scores["PC1"]).to_numpy()

    found = np.array([ranked(drawn) for drawn in errors.drawn(draws, seed)])
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    now = ranked(errors.scores.to_numpy())
    return np.stack([np.minimum(np.rint(low), now), np.maximum(np.rint(high), now)], axis=1)


def over_families(statistic, families: list[str]) -> tuple[float, float]:
    """The jackknife for groups of unequal size, written out (Busing, Meijer and van der Leeden 1999)."""
    n, names = len(families), sorted(set(families))
    whole = statistic([True] * n)
    sizes = [families.count(name) for name in names]
    left = [statistic([family != name for family in families]) for name in names]
    estimate = len(names) * whole - sum((1 - m / n) * x for m, x in zip(sizes, left, strict=True))
    variance = 0.0
    for m, x in zip(sizes, left, strict=True):
        h = n / m
        pseudo = h * whole - (h - 1) * x
        variance += (pseudo - estimate) ** 2 / (h - 1) / len(names)
    half = t.ppf(0.975, len(names) - 1) * variance**0.5
    return whole - half, whole + half
