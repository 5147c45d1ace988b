"""Estimate the retraining noise of each task from the differences between two runs of one protocol.

Both runs train the same models on the same tasks and use the same test items, so item sampling cancels in the
differences. They contain training noise and whatever else differed between the runs.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

_QUANTILE = 0.8  # quantile of a task's absolute differences that defines its usual difference
# An estimate from one pair is not exact. In simulations, 4 to 5 % of a rerun's scores exceed the limit that
# 4 % of the pair's differences exceed (tests/unit/stats/test_reruns.py).
_TAIL_SHARE = 0.04
_MIN_DIFFERENCES = 5  # fewest differences of a task, family or size for a quantile
_ROUNDS = 3  # iterations over tasks, families and sizes, enough to converge
_SIZES = (0.0, 0.6e9, 2e9, 5e9, np.inf)  # ends of the size bands, in parameters
_PRECISION = 6e-5  # rounding error of scores printed to a hundredth of a percent
_BOOTSTRAP_DRAWS, _SEED = 200, 0


@dataclass(frozen=True)
class Reruns:
    """Estimates from a pair of runs, in the units of the scores."""

    usual: pd.Series  # by task, the 80 % quantile of the absolute differences
    model_factors: pd.Series  # by model, the factor of its family and size on the usual difference
    limit: float  # a fraction _TAIL_SHARE of differences exceeds this multiple of the usual one

    def compute_limit(self, task: str, model: str) -> float:
        """Compute the difference that a rerun's score exceeds in about 5 % of cases."""
        return float(self.usual[task] * self.limit * self.model_factors[model])

    def spread(self, models: pd.Series, tasks: list[str]) -> pd.DataFrame:
        """Compute the standard deviation of a score over training runs: models in rows, tasks in columns.

        With it, the difference of two normally distributed scores exceeds the limit with probability
        _TAIL_SHARE. An unknown task or model gets the usual value.
        """
        from scipy.stats import norm  # slow to import, used only here

        usual = self.usual.reindex(tasks).fillna(np.exp(np.log(self.usual).mean()))
        model_factors = self.model_factors.reindex(models).fillna(1.0).to_numpy()
        unit = self.limit / norm.ppf(1 - _TAIL_SHARE / 2) / math.sqrt(2)
        return pd.DataFrame(np.outer(model_factors, usual) * unit, models.index, tasks)


def compute_rerun_differences(
    first: pd.DataFrame, second: pd.DataFrame, zero_shot: pd.DataFrame
) -> pd.DataFrame:
    """Subtract the second scores from the first where they come from independent training runs.

    Equal scores are left out, since they were not trained twice (or agree by chance). Scores at the zero-shot
    score in either run are left out too, since a clipped table hides the result of training there.
    """
    zero_shot, second = zero_shot.reindex_like(first), second.reindex_like(first)
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
        values = column.dropna()
        if len(values) < _MIN_DIFFERENCES:
            return column
        level = levels.loc[values.index, column.name]
        line = theilslopes(values, level)
        return (values - line.intercept - line.slope * level).reindex(column.index)

    return differences.apply(subtract_line)


def estimate_rerun_errors(differences: pd.DataFrame, models: pd.DataFrame) -> Reruns:
    """Estimate from the pair's differences how far a further run may be from either.

    The usual difference of a task is the 80 % quantile of its absolute differences: it includes a shift of the
    whole task but not the largest differences, some of which come from models that did not learn. Its logarithm is
    shrunk towards the mean of all tasks by its uncertainty (empirical Bayes, with variances from a bootstrap over
    models). Small models and some families have larger differences, so differences are first divided by a factor
    for the `family` and `parameters` of `models`. The limit is the quantile of the scaled differences that a
    fraction _TAIL_SHARE exceeds, over all tasks, with each model scaled by estimates without it.
    """
    sizes = differences.abs()
    sizes = sizes.loc[:, sizes.notna().sum() >= _MIN_DIFFERENCES]
    index, count = sizes.index.append(models.index.difference(sizes.index)), len(sizes)
    kinds = models.reindex(index, columns=["family", "parameters"])
    kinds["size"] = pd.cut(kinds.pop("parameters").astype(float), _SIZES, right=False)
    values = sizes.reindex(index).to_numpy()
    factors = _estimate_factors(values, kinds)
    scaled = values / factors[:, None]
    variances = _bootstrap_variances(scaled[:count])
    usual = pd.Series(_shrink(scaled, variances), sizes.columns)
    held_out = []
    for row in range(count):
        others = values.copy()
        others[row] = np.nan
        without = _estimate_factors(others, kinds)
        held_out.append(values[row] / without[row] / _shrink(others / without[:, None], variances))
    return Reruns(
        usual=usual,
        model_factors=pd.Series(factors, index),
        limit=float(np.nanquantile(held_out, 1 - _TAIL_SHARE)),
    )


def _estimate_factors(sizes: np.ndarray, kinds: pd.DataFrame) -> np.ndarray:
    """Estimate the factor of each model's family and size on the usual differences of tasks.

    A factor is the 80 % quantile of the family's or size band's differences over the usual ones of their tasks.
    Tasks, families and sizes are estimated iteratively, each after dividing by the others. The factor is 1 for an
    unknown family or size, or for too few differences.
    """
    factors = {column: np.ones(len(sizes)) for column in kinds}
    for _ in range(_ROUNDS):
        scaled = sizes / (factors["family"] * factors["size"])[:, None]
        ratios = sizes / _find_usual(scaled)
        for column, other in (("size", "family"), ("family", "size")):
            rest = ratios / factors[other][:, None]
            for kind in kinds[column].dropna().unique():
                members = (kinds[column] == kind).to_numpy()
                if np.isfinite(rest[members]).sum() >= _MIN_DIFFERENCES:
                    factors[column][members] = np.nanquantile(rest[members], _QUANTILE)
    return factors["family"] * factors["size"]


def _shrink(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    logs = np.log(_find_usual(values))
    between = max(float(np.var(logs)) - float(variances.mean()), 0.0)
    total = between + variances
    weight = np.divide(between, total, out=np.ones_like(total), where=total > 0)
    return np.exp(weight * logs + (1 - weight) * logs.mean())


def _bootstrap_variances(values: np.ndarray) -> np.ndarray:
    """Compute the variance of the logarithm of each task's usual difference over bootstrap samples of the models."""
    generator = np.random.default_rng(_SEED)
    rows = generator.integers(0, len(values), (_BOOTSTRAP_DRAWS, len(values)))
    return np.nanvar(np.log(_find_usual(values[rows])), axis=0)


def _find_usual(values: np.ndarray) -> np.ndarray:
    return np.nanquantile(values, _QUANTILE, axis=-2)
