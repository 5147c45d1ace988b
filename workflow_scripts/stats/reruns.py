"""How far two runs of one protocol lie apart, task by task, measured on a pair of such runs.

Both runs train the same models on the same tasks and put the same questions, so that which questions
were drawn cancels in their differences: what is left is the training, and whatever else was not the
same twice.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

USUAL = 0.8  # the quantile of the differences' sizes that stands for a task
# What is read off one pair is not known exactly. Simulated, of a rerun's scores 4 to 5 % exceed what 4 %
# of the pair's do, and 5 % of its tasks move by more than twice these errors (tests/unit/stats/test_reruns.py).
BEYOND = 0.04
FROM_FEW_TASKS = 1.25
FEWEST = 5  # differences of a task or a kind of models, below which its own quantile says nothing
ROUNDS = 3  # of estimating tasks, families and sizes in turn, after which nothing moves
SIZES = (0.6e9, 2e9, 5e9)  # parameters that part small models from larger ones
SAME = 6e-5  # scores printed to a hundredth of a percent
DRAWS, SEED = 200, 0


@dataclass(frozen=True)
class Reruns:
    """What the pair says; everything in the units of the scores."""

    differences: pd.DataFrame  # models down, tasks across; NaN where nothing was run twice
    usual: pd.Series  # by task, the size that four differences of five stay below
    strays: pd.Series  # by model, how much farther than usual ones of its family and size stray
    limit: float  # how many usual differences a share of BEYOND exceeds
    shift: float  # root mean square over tasks of a task's median difference, in usual ones
    within: float  # standard deviation of a task's differences around their median, likewise

    def most(self, task: str, model: str | None = None) -> float:
        """Compute how far a score of a rerun lies from the first run's at most, but for one in twenty.

        Of a model that strays as is usual, where none is named.
        """
        return float(self.usual[task] * self.limit * (self.strays[model] if model else 1.0))

    def spread(self, models: pd.Series, tasks: list[str]) -> pd.DataFrame:
        """Compute the standard deviation of a score over trainings: labels of the models down, tasks across.

        That of a normal number of which the pair's share exceeds the limit, as differences of two
        trainings do. A task that the pair lacks is taken for a usual one, and so is a model.
        """
        from scipy.stats import norm  # slow to import, and needed here alone

        usual = self.usual.reindex(tasks).fillna(np.exp(np.log(self.usual).mean()))
        strays = self.strays.reindex(models).fillna(1.0).to_numpy()
        one = self.limit / norm.ppf(1 - BEYOND / 2) / math.sqrt(2)
        return pd.DataFrame(np.outer(strays, usual) * one, models.index, tasks)

    def shift_error(self, task: str, models: int) -> float:
        """Compute the error of the median difference of so many models: what moves all, and the chance of each."""
        # The median of n normal numbers has the variance pi / 2n.
        chance = math.pi / 2 * self.within**2 / models
        return float(self.usual[task]) * math.hypot(FROM_FEW_TASKS * self.shift, math.sqrt(chance))


def differences_of(first: pd.DataFrame, second: pd.DataFrame, floor: pd.DataFrame) -> pd.DataFrame:
    """Subtract the second scores from the first ones, where both come from trainings of their own.

    Left out is what is the same in both, which was not trained twice, or by chance came out alike, and
    what lies at its floor (the score without training) in either: a table that was floored hides there
    what the training did.
    """
    floor, second = floor.reindex_like(first), second.reindex_like(first)
    differences = first - second
    at_floor = (first <= floor + SAME) | (second <= floor + SAME)
    return differences.mask(at_floor | (differences.abs() < SAME))


def reordering(differences: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Compute what of the differences can change an order of models: what is off the line of its task.

    A second run may put all models of a task higher, or the good ones by more than the poor ones, as
    another version of a harness does. No order changes with that, and no test of two models should take
    it for the chance of a training. `levels` are the means of the two runs, which random errors of two
    equal sizes leave uncorrelated with the difference; the line (Theil and Sen's) is one that a few
    models that did not learn cannot turn.
    """
    from scipy.stats import theilslopes  # slow to import, and needed here alone

    def take_line_out(column: pd.Series) -> pd.Series:
        known = column.dropna()
        if len(known) < FEWEST:
            return column
        level = levels.loc[known.index, column.name]
        line = theilslopes(known, level)
        return (known - line.intercept - line.slope * level).reindex(column.index)

    return differences.apply(take_line_out)


def size_band(parameters: float) -> int:
    """Return which of the sizes a model has: below 0.6 B, below 2 B, below 5 B, or larger."""
    return int(np.searchsorted(SIZES, parameters, side="right"))


def reruns_of(differences: pd.DataFrame, models: pd.DataFrame | None = None) -> Reruns:
    """Estimate from the pair's differences how far a further run may lie from either.

    The size of a task's differences is their 80 % quantile about zero: it sees a shift of the whole task
    and not how far the farthest strays, of which some did not learn at all. Its logarithm is drawn
    towards the mean of all tasks, the more the less certain it is (empirical Bayes; the variance of
    each by bootstrap over models). Small models stray farther than large ones, and some families
    farther than others: where `models` has `family` and `parameters` of each, differences are first
    divided by what is usual for their kind. How many such sizes are exceeded by a share of BEYOND is
    read off all tasks together, each model held against sizes that were estimated without it.
    """
    sizes = differences.abs()
    sizes = sizes.loc[:, sizes.notna().sum() >= FEWEST]
    values, tasks = sizes.to_numpy(), sizes.columns
    known = pd.DataFrame(columns=["family", "parameters"]) if models is None else models
    known = known.reindex(sizes.index.union(known.index))
    bands = known["parameters"].map(size_band, na_action="ignore")
    kinds = pd.DataFrame({"family": known["family"], "size": bands})
    factors = estimate_factors(sizes, kinds)
    scaled = values / factors[sizes.index].to_numpy()[:, None]
    variances = _bootstrap_variances(scaled)
    usual = pd.Series(_shrink(scaled, variances), tasks)
    held_out = []
    for model, own in sizes.iterrows():
        others = sizes.drop(index=model)
        without = estimate_factors(others, kinds)
        of_others = others.to_numpy() / without[others.index].to_numpy()[:, None]
        held_out.append(own.to_numpy() / without[model] / _shrink(of_others, variances))
    medians = differences[tasks].median()
    around = (differences[tasks] - medians) / usual
    return Reruns(
        differences=differences,
        usual=usual,
        strays=factors,
        limit=float(np.nanquantile(held_out, 1 - BEYOND)),
        shift=float(np.sqrt(((medians / usual) ** 2).mean())),
        within=float(1.4826 * np.nanmedian(around.abs())),
    )


def estimate_factors(sizes: pd.DataFrame, kinds: pd.DataFrame) -> pd.Series:
    """Estimate by what factor the differences of each model of `kinds` are larger than is usual on their tasks.

    By the same quantile of each kind's differences over the usual ones of their tasks; in turn, since
    tasks, families and sizes are each judged by what is left when the others are taken out. The factor is 1 of what
    is not known, or has too few differences.
    """
    values, about = sizes.to_numpy(), kinds.loc[sizes.index]
    rows = {column: np.ones(len(values)) for column in kinds}
    factors: dict[str, dict] = {column: {} for column in kinds}
    for _ in range(ROUNDS if about.notna().to_numpy().any() else 0):
        over = values / _find_usual(values / (rows["family"] * rows["size"])[:, None])
        for column, other in (("size", "family"), ("family", "size")):
            rest = over / rows[other][:, None]
            for kind in about[column].dropna().unique():
                members = (about[column] == kind).to_numpy()
                if np.isfinite(rest[members]).sum() >= FEWEST:
                    usual = np.nanquantile(rest[members], USUAL)
                    factors[column][kind] = rows[column][members] = usual
    strays = [kinds[column].map(found).astype(float) for column, found in factors.items()]
    return strays[0].fillna(1.0) * strays[1].fillna(1.0)


def _shrink(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    logs = np.log(_find_usual(values))
    between = max(float(np.var(logs)) - float(variances.mean()), 0.0)
    total = between + variances
    weight = np.divide(between, total, out=np.ones_like(total), where=total > 0)
    return np.exp(weight * logs + (1 - weight) * logs.mean())


def _bootstrap_variances(values: np.ndarray) -> np.ndarray:
    """Compute the variance of the logarithm of each task's quantile, over draws of the models."""
    drawn = np.random.default_rng(SEED).integers(0, len(values), (DRAWS, len(values)))
    return np.nanvar(np.log(_find_usual(values[drawn])), axis=0)


def _find_usual(values: np.ndarray) -> np.ndarray:
    return np.nanquantile(values, USUAL, axis=-2)
