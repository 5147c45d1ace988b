"""Estimate the retraining noise of each task from the differences between two runs of one protocol.

Both runs train the same models on the same tasks and use the same test items, so item sampling cancels in the
differences. They contain training noise and whatever else differed between the runs.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

_QUANTILE = 0.8  # quantile of a task's absolute differences that is its typical difference
# An estimate from one pair is not exact. In simulations, 4 to 5 % of a rerun's scores exceed the limit that
# 4 % of the pair's differences exceed (tests/unit/stats/test_reruns.py).
_TAIL_FRACTION = 0.04
_MIN_DIFFERENCES = 5  # fewest differences of a task, family or size for a quantile
_ROUNDS = 3  # iterations over tasks, families and sizes, enough to converge
_SIZE_BANDS = (0.0, 0.6e9, 2e9, 5e9, np.inf)  # ends of the bands, in parameters
_PRECISION = 6e-5  # rounding error of scores printed to a hundredth of a percent
_BOOTSTRAP_DRAWS = 200
_SEED = 0


@dataclass(frozen=True)
class RetrainingNoise:
    """The retraining noise of each task and model, estimated from a pair of runs, in the units of the scores."""

    typical: pd.Series  # by task, the 80 % quantile of the absolute differences
    model_factors: (
        pd.Series
    )  # by model, the factor of its family and size on the typical difference
    limit_factor: (
        float  # a fraction _TAIL_FRACTION of differences exceeds this multiple of the typical one
    )

    def compute_limit(self, task: str, model: str) -> float:
        """Compute the difference of two runs that is exceeded in about 5 % of cases."""
        return float(self.typical[task] * self.limit_factor * self.model_factors[model])

    def estimate_stderrs(self, models: pd.Series, tasks: list[str]) -> pd.DataFrame:
        """Compute the standard deviation of a score over training runs: models in rows, tasks in columns.

        With it, the difference of two normally distributed scores exceeds the limit with probability
        _TAIL_FRACTION. An unknown task gets the geometric mean of the tasks, an unknown model the factor 1.
        """
        from scipy.stats import norm  # slow to import, used only here

        typical = self.typical.reindex(tasks).fillna(np.exp(np.log(self.typical).mean()))
        model_factors = self.model_factors.reindex(models).fillna(1.0).to_numpy()
        stderr_factor = self.limit_factor / norm.ppf(1 - _TAIL_FRACTION / 2) / math.sqrt(2)
        return pd.DataFrame(np.outer(model_factors, typical) * stderr_factor, models.index, tasks)


def compute_rerun_differences(
    first: pd.DataFrame, second: pd.DataFrame, zero_shot: pd.DataFrame
) -> pd.DataFrame:
    """Subtract the second scores from the first where they come from independent training runs.

    Equal scores are left out, since they were not trained twice (or agree by chance). Scores at the zero-shot
    score in either run are left out too, since a clipped table hides the result of training there.
    """
    zero_shot = zero_shot.reindex_like(first)
    second = second.reindex_like(first)
    differences = first - second
    at_zero_shot = (first <= zero_shot + _PRECISION) | (second <= zero_shot + _PRECISION)
    return differences.mask(at_zero_shot | (differences.abs() < _PRECISION))


def subtract_task_lines(differences: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Compute the part of the differences that can change the order of models: the residuals from a line per task.

    A second run may score all models of a task higher, or good models by more than poor ones, for example
    with another harness version. This changes no order, and tests of two models should not count it as
    training noise. `levels` are the means of the two runs, which are uncorrelated with the difference if both
    runs have equal error variances. The line is the Theil-Sen estimate, which is robust to a few models that
    did not learn.
    """
    from scipy.stats import theilslopes  # slow to import, used only here

    def subtract_line(column: pd.Series) -> pd.Series:
        """Subtract the line of one task, or nothing if it has too few differences."""
        values = column.dropna()
        if len(values) < _MIN_DIFFERENCES:
            return column
        level = levels.loc[values.index, column.name]
        line = theilslopes(values, level)
        return (values - line.intercept - line.slope * level).reindex(column.index)

    return differences.apply(subtract_line)


def estimate_retraining_noise(differences: pd.DataFrame, models: pd.DataFrame) -> RetrainingNoise:
    """Estimate from the differences of two runs how far a further run may be from either.

    The typical difference of a task is the 80 % quantile of its absolute differences: it includes a shift of the
    whole task but not the largest differences, some of which come from models that did not learn. Its logarithm is
    shrunk towards the mean of all tasks by its uncertainty (empirical Bayes, with variances from a bootstrap over
    models). Small models and some families have larger differences, so differences are first divided by a factor
    for the `family` and `parameters` of `models`. The limit is the quantile of the scaled differences that a
    fraction _TAIL_FRACTION exceeds, over all tasks, with each model scaled by estimates without it.
    """
    distances = differences.abs()
    distances = distances.loc[:, distances.notna().sum() >= _MIN_DIFFERENCES]
    count = len(distances)
    index = distances.index.append(models.index.difference(distances.index))
    groups = models.reindex(index, columns=["family", "parameters"])
    groups["size"] = pd.cut(groups.pop("parameters").astype(float), _SIZE_BANDS, right=False)
    values = distances.reindex(index).to_numpy()
    factors = _estimate_factors(values, groups)
    scaled = values / factors[:, None]
    variances = _bootstrap_variances(scaled[:count])
    typical = pd.Series(_shrink_typical(scaled, variances), distances.columns)
    held_out = []
    for row in range(count):
        others = values.copy()
        others[row] = np.nan
        other_factors = _estimate_factors(others, groups)
        other_typical = _shrink_typical(others / other_factors[:, None], variances)
        held_out.append(values[row] / other_factors[row] / other_typical)
    return RetrainingNoise(
        typical=typical,
        model_factors=pd.Series(factors, index),
        limit_factor=float(np.nanquantile(held_out, 1 - _TAIL_FRACTION)),
    )


def _estimate_factors(distances: np.ndarray, groups: pd.DataFrame) -> np.ndarray:
    """Estimate the factor of each model's family and size on the typical differences of tasks.

    A factor is the 80 % quantile of the family's or size band's differences over the typical ones of their tasks.
    Tasks, families and sizes are estimated iteratively, each after dividing by the others. The factor is 1 for an
    unknown family or size, or for too few differences. `groups` has the family and size band of each model.
    """
    factors = {column: np.ones(len(distances)) for column in groups}
    for _ in range(_ROUNDS):
        scaled = distances / (factors["family"] * factors["size"])[:, None]
        ratios = distances / _find_typical(scaled)
        for column, other in (("size", "family"), ("family", "size")):
            rest = ratios / factors[other][:, None]
            for group in groups[column].dropna().unique():
                members = (groups[column] == group).to_numpy()
                if np.isfinite(rest[members]).sum() >= _MIN_DIFFERENCES:
                    factors[column][members] = np.nanquantile(rest[members], _QUANTILE)
    return factors["family"] * factors["size"]


def _shrink_typical(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Compute each task's typical difference, shrunk towards their geometric mean by `variances` of the logarithms."""
    logs = np.log(_find_typical(values))
    between = max(float(np.var(logs)) - float(variances.mean()), 0.0)
    total = between + variances
    weight = np.divide(between, total, out=np.ones_like(total), where=total > 0)
    return np.exp(weight * logs + (1 - weight) * logs.mean())


def _bootstrap_variances(values: np.ndarray) -> np.ndarray:
    """Compute the variance of the logarithm of each task's typical difference over bootstrap samples of the models."""
    generator = np.random.default_rng(_SEED)
    rows = generator.integers(0, len(values), (_BOOTSTRAP_DRAWS, len(values)))
    return np.nanvar(np.log(_find_typical(values[rows])), axis=0)


def _find_typical(values: np.ndarray) -> np.ndarray:
    return np.nanquantile(values, _QUANTILE, axis=-2)
