"""How far two runs of one protocol lie apart, task by task, measured on a pair of such runs.

Both runs train the same models on the same tasks and ask the same questions, so that the sample of questions
cancels in their differences: what is left is the training, and whatever else was not the same twice.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

_QUANTILE = 0.8  # of the sizes of a task's differences, which is the task's usual difference
# An estimate from one pair is not exact. Simulated, of a rerun's scores 4 to 5 % exceed what 4 %
# of the pair's do (tests/unit/stats/test_reruns.py).
_TAIL_SHARE = 0.04
_MIN_DIFFERENCES = 5  # of a task or a kind of models, below which its own quantile says nothing
_ROUNDS = 3  # of estimating tasks, families and sizes in turn, after which nothing changes
_SIZES = (0.6e9, 2e9, 5e9)  # parameters that separate small models from larger ones
_PRECISION = 6e-5  # of scores printed to a hundredth of a percent
_BOOTSTRAP_DRAWS, _SEED = 200, 0


@dataclass(frozen=True)
class Reruns:
    """Estimates from a pair of runs, in the units of the scores."""

    differences: pd.DataFrame  # models down, tasks across; NaN where nothing was run twice
    usual: pd.Series  # by task, the size that four differences of five stay below
    strays: pd.Series  # by model, the factor of its family and size on the usual difference
    limit: float  # how many usual differences a fraction of _TAIL_SHARE exceeds

    def most(self, task: str, model: str) -> float:
        """Compute the largest difference of a rerun's score, but for 5 %."""
        return float(self.usual[task] * self.limit * self.strays[model])

    def spread(self, models: pd.Series, tasks: list[str]) -> pd.DataFrame:
        """Compute the standard deviation of a score over trainings: labels of the models down, tasks across.

        It is that of a normal number of which the pair's share exceeds the limit, as differences of two
        trainings do. An unknown task or model is a usual one.
        """
        from scipy.stats import norm  # slow to import, and needed here alone

        usual = self.usual.reindex(tasks).fillna(np.exp(np.log(self.usual).mean()))
        strays = self.strays.reindex(models).fillna(1.0).to_numpy()
        unit = self.limit / norm.ppf(1 - _TAIL_SHARE / 2) / math.sqrt(2)
        return pd.DataFrame(np.outer(strays, usual) * unit, models.index, tasks)


def compute_rerun_differences(
    first: pd.DataFrame, second: pd.DataFrame, zero_shot: pd.DataFrame
) -> pd.DataFrame:
    """Subtract the second scores from the first ones, where both come from trainings of their own.

    Equal scores are left out, which were not trained twice, or by chance came out alike, and so are
    scores at the zero-shot score in either: a clipped table hides there
    what the training did.
    """
    zero_shot, second = zero_shot.reindex_like(first), second.reindex_like(first)
    differences = first - second
    at_zero_shot = (first <= zero_shot + _PRECISION) | (second <= zero_shot + _PRECISION)
    return differences.mask(at_zero_shot | (differences.abs() < _PRECISION))


def subtract_task_lines(differences: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Compute the part of the differences that can change an order of models: what is off the line of its task.

    A second run may put all models of a task higher, or the good ones by more than the poor ones, as
    another version of a harness does. No order changes with that, and no test of two models should take
    it for the chance of a training. `levels` are the means of the two runs, which random errors of two
    equal sizes leave uncorrelated with the difference; the line is Theil and Sen's, which a few
    models that did not learn cannot turn.
    """
    from scipy.stats import theilslopes  # slow to import, and needed here alone

    def subtract_line(column: pd.Series) -> pd.Series:
        values = column.dropna()
        if len(values) < _MIN_DIFFERENCES:
            return column
        level = levels.loc[values.index, column.name]
        line = theilslopes(values, level)
        return (values - line.intercept - line.slope * level).reindex(column.index)

    return differences.apply(subtract_line)


def size_band(parameters: float) -> int:
    """Return the band of a model's size: below 0.6 B, below 2 B, below 5 B, or larger."""
    return int(np.searchsorted(_SIZES, parameters, side="right"))


def estimate_rerun_errors(differences: pd.DataFrame, models: pd.DataFrame) -> Reruns:
    """Estimate from the pair's differences how far a further run may lie from either.

    The size of a task's differences is their 80 % quantile about zero: it sees a shift of the whole task
    and not the largest differences, of models of which some did not learn at all. Its logarithm is drawn
    towards the mean of all tasks, the more the less certain it is (empirical Bayes; the variance of
    each by bootstrap over models). Small models have larger differences than large ones, and some families
    than others: by `family` and `parameters` of `models`, differences are first divided by what is usual for
    their kind. How many such sizes a share of _TAIL_SHARE exceeds is read off all tasks together, each model
    compared with sizes that were estimated without it.
    """
    sizes = differences.abs()
    sizes = sizes.loc[:, sizes.notna().sum() >= _MIN_DIFFERENCES]
    index, count = sizes.index.append(models.index.difference(sizes.index)), len(sizes)
    bands = models["parameters"].map(size_band, na_action="ignore")
    kinds = pd.DataFrame({"family": models["family"], "size": bands}).reindex(index)
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
        differences=differences,
        usual=usual,
        strays=pd.Series(factors, index),
        limit=float(np.nanquantile(held_out, 1 - _TAIL_SHARE)),
    )


def _estimate_factors(sizes: np.ndarray, kinds: pd.DataFrame) -> np.ndarray:
    """Estimate the factor of each model's family and size on the usual differences of tasks.

    It is the same quantile of the kind's differences over the usual ones of their tasks; in turn, since
    tasks, families and sizes are each judged by what is left when the others are divided out. The factor of an
    unknown kind, or one with too few differences, is 1.
    """
    factors = {column: np.ones(len(sizes)) for column in kinds}
    for _ in range(_ROUNDS if kinds.notna().to_numpy().any() else 0):
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
    """Compute the variance of the logarithm of each task's quantile over bootstrap samples of the models."""
    generator = np.random.default_rng(_SEED)
    rows = generator.integers(0, len(values), (_BOOTSTRAP_DRAWS, len(values)))
    return np.nanvar(np.log(_find_usual(values[rows])), axis=0)


def _find_usual(values: np.ndarray) -> np.ndarray:
    return np.nanquantile(values, _QUANTILE, axis=-2)
