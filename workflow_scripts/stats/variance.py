"""Where the variance of scores lies: with the models, with model and task together, with items, with training."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores

PARTS = ("model", "together", "items", "training")
RELIABLE = 0.9  # of a mean over tasks: what is told first of them
WANTED = (0.8, RELIABLE, 0.95)


class Variance(NamedTuple):
    """Components of the variance of standardised scores; NaN where one is not known."""

    model: float
    left: float
    """What the model and the task do not explain: the three below, as far as they are known."""
    together: float
    """Of the model and the task together, with what of the two below is not known.

    Less than 0 where these exceed what is left.
    """
    items: float
    training: float
    tasks: int

    @property
    def shares(self) -> dict[str, float]:
        """Of the sum of the components, none below 0; all NaN where models do not differ."""
        found = {name: np.maximum(getattr(self, name), 0.0) for name in PARTS}
        total = sum(value for value in found.values() if not math.isnan(value))
        return {name: value / total if total else math.nan for name, value in found.items()}

    def reliability(self, tasks: int) -> float:
        """Of the models' means over so many tasks of the kind: m / (m + l / T), from 0 to 1.

        It is the correlation that two such means would have, each over other tasks (Spearman and Brown's
        formula, and the coefficient of generalizability over tasks).
        """
        if not tasks or math.isnan(self.left):
            return math.nan
        model = max(self.model, 0.0)
        return model / (model + self.left / tasks)

    def tasks_for(self, reliability: float) -> float:
        """How many tasks that takes; NaN where models do not differ beyond their tasks."""
        if not self.model > 0:
            return math.nan
        odds = reliability / (1 - reliability)
        return max(float(math.ceil(odds * self.left / self.model - 1e-9)), 1.0)


def variance_of(
    scores: pd.DataFrame, stderrs: pd.DataFrame, training: pd.DataFrame | None = None
) -> Variance:
    """Split the variance of scores, each task standardised over the models, by the method of moments.

    Of z = model + task + rest, the mean square of the rest is what is left; it is the sum of the
    interaction of model and task, of the sampling of items and of chance in training. The variance of
    models is what of that within a task (1, as tasks are standardised) is not left. For items stands the
    mean square of the standardised standard errors, for training the variance in `training` of each cell
    (`of_rerun` has it for two runs), and for the interaction what of the rest is then over. Missing cells are
    allowed. Errors of items are taken as each model's own; where all models answer the same items a part
    of them is the task's, and the share of items is rather too large.
    """
    spread = scores.std(ddof=1)
    used = spread.index[spread > 1e-12]
    spread = spread[used]
    values = checked_scores(scores[used] / spread)
    errors = checked_scores(stderrs.reindex_like(scores)[used] / spread)
    left = unexplained(values)
    model = 1 - left
    items = _mean(np.where(np.isnan(values), np.nan, errors**2))
    chance = math.nan
    if training is not None:
        chance = _mean((training.reindex_like(scores)[used] / spread**2).to_numpy())
    together = left - sum(part for part in (items, chance) if not math.isnan(part))
    return Variance(model, left, together, items, chance, len(used))


def unexplained(values: np.ndarray) -> float:
    """Mean square of what models (rows) and tasks (columns) leave of the values; NaN where nothing is left.

    By least squares over the cells that are known; the divisor is their number less that of the effects.
    Each model's effect is the mean of what the tasks' effects leave of it, so that these alone are solved for.
    """
    values = values[(~np.isnan(values)).any(axis=1)]
    known = ~np.isnan(values)
    count = known.astype(float)
    filled = np.where(known, values, 0.0)
    share = count / count.sum(axis=1, keepdims=True)
    normal = np.diag(count.sum(axis=0)) - count.T @ share
    sums = filled.sum(axis=0) - share.T @ filled.sum(axis=1)
    of_tasks, _, rank, _ = np.linalg.lstsq(normal, sums, rcond=1e-10)
    free = int(known.sum()) - len(values) - int(rank)
    if free < 1:
        return math.nan
    off = np.where(known, values - of_tasks, 0.0)
    rest = np.where(
        known, off - off.sum(axis=1, keepdims=True) / count.sum(axis=1, keepdims=True), 0.0
    )
    return float((rest**2).sum() / free)


def of_rerun(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """The variance that training has in each cell, from two runs that trained the same models: one number.

    Both ask the same items, which cancel in the differences; and a shift of a whole task or model is no
    chance of a cell. Half the mean square of what is left of the differences, task by task in units of
    the scores' spread, is what one training has. Cells that stand the same in both, because they were not
    trained twice, count as they are: it is then rather too small.
    """
    spread = first.std(ddof=1)
    off = (first - second.reindex_like(first)) / spread.where(spread > 1e-12)
    off = off.dropna(axis=1, how="all")
    variance = unexplained(checked_scores(off)) / 2
    one = pd.DataFrame(variance, first.index, first.columns) * spread**2
    return one.where(first.notna())


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan
