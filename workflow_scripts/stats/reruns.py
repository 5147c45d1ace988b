"""How far two runs of one protocol lie apart, task by task, measured on a pair of such runs.

Both runs train the same models on the same tasks and put the same questions, so that which questions
were drawn cancels in their differences: what is left is the training, and whatever else was not the
same twice.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

USUAL = 0.8  # the quantile of the differences' sizes that stands for a task
# What is read off one pair is not known exactly. Simulated, of a rerun's scores 4 to 5 % exceed what 4 %
# of the pair's do, and 5 % of its tasks move by more than twice these errors (tests/unit/stats/test_reruns.py).
BEYOND = 0.04
_FROM_FEW_TASKS = 1.25
_FEWEST = 5  # differences of a task or a kind of models, below which its own quantile says nothing
_ROUNDS = 3  # of estimating tasks, families and sizes in turn, after which nothing moves
SIZES = (0.6e9, 2e9, 5e9)  # parameters that part small models from larger ones
_SAME = 6e-5  # scores printed to a hundredth of a percent
_DRAWS, _SEED = 200, 0


@dataclass(frozen=True)
class Kinds:
    """How much farther models stray by their family and size, over what is usual on a task."""

    families: dict[str, float]
    sizes: tuple[float, ...]

    def factor(self, family: str | None, parameters: float | None) -> float:
        """1 for what is not known."""
        of_family = self.families.get(family or "", 1.0)
        if parameters is None:
            return of_family
        return of_family * self.sizes[size_band(parameters)]

    def factors(self, about: pd.DataFrame) -> np.ndarray:
        """Of models by their family and parameters, one a row."""
        if not self.families and set(self.sizes) == {1.0}:  # of nothing known, at once
            return np.ones(len(about))
        known = about.astype(object).where(about.notna(), None)
        return np.array([self.factor(*row) for row in known[["family", "parameters"]].to_numpy()])


def size_band(parameters: float) -> int:
    """Which of the sizes a model has: below 0.6 B, below 2 B, below 5 B, or larger."""
    return int(np.searchsorted(SIZES, parameters, side="right"))


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
        """How far a score of a rerun lies from the first run's at most, but for one in twenty; of a model
        that strays as is usual, where none is named.
        """
        return float(self.usual[task] * self.limit * (self.strays[model] if model else 1.0))

    def spread(self, models: pd.Series, tasks: list[str]) -> pd.DataFrame:
        """The standard deviation of a score over trainings: labels of the models down, tasks across.

        That of a normal number of which the pair's share exceeds the limit, as differences of two
        trainings do. A task that the pair lacks is taken for a usual one, and so is a model.
        """
        usual = self.usual.reindex(tasks).fillna(np.exp(np.log(self.usual).mean()))
        strays = self.strays.reindex(models).fillna(1.0).to_numpy()
        from scipy.stats import norm  # slow to import, and needed here alone

        one = self.limit / norm.ppf(1 - BEYOND / 2) / math.sqrt(2)
        return pd.DataFrame(np.outer(strays, usual) * one, models.index, tasks)

    def shift_error(self, task: str, models: int) -> float:
        """Of the median difference of so many models: what moves all of them, and the chance of each."""
        # The median of n normal numbers has the variance pi / 2n.
        chance = math.pi / 2 * self.within**2 / models
        return float(self.usual[task]) * math.hypot(_FROM_FEW_TASKS * self.shift, math.sqrt(chance))


def differences_of(first: pd.DataFrame, second: pd.DataFrame, floor: pd.DataFrame) -> pd.DataFrame:
    """The first scores minus the second ones, where both come from trainings of their own.

    Left out is what is the same in both, which was not trained twice, or by chance came out alike, and
    what lies at its floor (the score without training) in either: a table that was floored hides there
    what the training did.
    """
    floor, second = (table.reindex_like(first) for table in (floor, second))
    found = first - second
    at_floor = (first <= floor + _SAME) | (second <= floor + _SAME)
    return found.mask(at_floor | (found.abs() < _SAME))


def reordering(differences: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """What of the differences can change an order of models: what is off the line of its task.

    A second run may put all models of a task higher, or the good ones by more than the poor ones, as
    another version of a harness does. No order changes with that, and no test of two models should take
    it for the chance of a training. `levels` are the means of the two runs, which random errors of two
    equal sizes leave uncorrelated with the difference; the line (Theil and Sen's) is one that a few
    models that did not learn cannot turn.
    """
    from scipy.stats import theilslopes  # slow to import, and needed here alone

    found = differences.copy()
    for task, column in differences.items():
        known = column.dropna()
        if len(known) < _FEWEST:
            continue
        at = levels.loc[known.index, task]
        line = theilslopes(known, at)
        found.loc[known.index, task] = known - line.intercept - line.slope * at
    return found


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
    sizes = sizes.loc[:, sizes.notna().sum() >= _FEWEST]
    tasks, values = sizes.columns, sizes.to_numpy()
    known = pd.DataFrame(columns=["family", "parameters"]) if models is None else models
    known = known.reindex(sizes.index.union(known.index))[["family", "parameters"]]
    about = known.loc[sizes.index]
    kinds = kinds_of(values, about)
    scaled = values / kinds.factors(about)[:, None]
    variances = _variances(scaled)
    usual = pd.Series(_shrunk(scaled, variances), tasks)
    held_out = []
    for at in range(len(values)):
        others = np.arange(len(values)) != at
        without = kinds_of(values[others], about[others])
        of_others = values[others] / without.factors(about[others])[:, None]
        own = without.factors(about.iloc[[at]])[0]
        held_out.append(values[at] / own / _shrunk(of_others, variances))
    limit = float(np.nanquantile(held_out, 1 - BEYOND))
    medians = differences[tasks].median()
    around = (differences[tasks] - medians) / usual
    return Reruns(
        differences=differences,
        usual=usual,
        strays=pd.Series(kinds.factors(known), known.index),
        limit=limit,
        shift=float(np.sqrt(((medians / usual) ** 2).mean())),
        within=float(1.4826 * np.nanmedian(around.abs())),
    )


def kinds_of(values: np.ndarray, about: pd.DataFrame) -> Kinds:
    """By the same quantile of each kind's differences over the usual ones of their tasks; in turn, since
    tasks, families and sizes are each judged by what is left when the others are taken out.
    """
    bands = about["parameters"].map(size_band, na_action="ignore")
    groups = {"families": about["family"].to_numpy(), "sizes": bands.to_numpy()}
    found: dict[str, dict[Any, float]] = {
        name: dict.fromkeys(pd.unique(of[pd.notna(of)]), 1.0) for name, of in groups.items()
    }
    if not any(found.values()):
        return Kinds({}, (1.0,) * (len(SIZES) + 1))
    rows = {
        name: np.array([found[name].get(one, 1.0) for one in of]) for name, of in groups.items()
    }
    for _ in range(_ROUNDS):
        over = values / _usual(values / (rows["families"] * rows["sizes"])[:, None])
        for name, other in (("sizes", "families"), ("families", "sizes")):
            rest = over / rows[other][:, None]
            for one in found[name]:
                of_kind = groups[name] == one
                some = rest[of_kind]
                if np.isfinite(some).sum() >= _FEWEST:
                    found[name][one] = rows[name][of_kind] = float(_usual(some.reshape(-1, 1))[0])
    return Kinds(
        found["families"], tuple(found["sizes"].get(at, 1.0) for at in range(len(SIZES) + 1))
    )


def _shrunk(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    logs = np.log(_usual(values))
    between = max(float(np.var(logs)) - float(variances.mean()), 0.0)
    total = between + variances
    weight = np.divide(between, total, out=np.ones_like(total), where=total > 0)
    return np.exp(weight * logs + (1 - weight) * logs.mean())


def _variances(values: np.ndarray) -> np.ndarray:
    """Of the logarithm of each task's quantile, over draws of the models."""
    generator = np.random.default_rng(_SEED)
    drawn = generator.integers(0, len(values), (_DRAWS, len(values)))
    return np.nanvar(np.log(_usual(values[drawn])), axis=0)


def _usual(values: np.ndarray) -> np.ndarray:
    return np.nanquantile(values, USUAL, axis=-2)
