"""Components of the variance of scores: model, model and task together, items, and training."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

PARTS = ("model", "together", "items", "training")
RELIABLE = 0.9  # of a mean over tasks: the reliability of figures and prose
RELIABILITIES = (0.8, RELIABLE, 0.95)


class Variance(NamedTuple):
    """Components of the variance of standardised scores; NaN where unknown."""

    model: float
    left: float
    """What the model and the task do not explain: the three below, as far as they are known."""
    together: float
    """Of the model and the task together, with unknown ones of the two below.

    Less than 0 where these exceed what is left.
    """
    items: float
    training: float
    tasks: int

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the sum of the components, none below 0; all NaN where models do not differ."""
        parts = pd.Series(self._asdict())[list(PARTS)].clip(lower=0)
        return (parts / (parts.sum() or math.nan)).to_dict()

    def reliability(self, tasks: int) -> float:
        """Compute m / (m + l / T) of the models' means over so many tasks of the kind, from 0 to 1.

        It is the correlation that two such means would have, each over other tasks (Spearman and Brown's
        formula, and the coefficient of generalizability over tasks).
        """
        if not tasks or math.isnan(self.left):
            return math.nan
        model = max(self.model, 0.0)
        return model / (model + self.left / tasks)

    def count_tasks_needed(self, reliability: float) -> float:
        """Count the tasks that this reliability takes; NaN where models do not differ beyond their tasks."""
        if not self.model > 0:
            return math.nan
        odds = reliability / (1 - reliability)
        return max(float(math.ceil(odds * self.left / self.model - 1e-9)), 1.0)


def decompose_variance(
    scores: pd.DataFrame, stderrs: pd.DataFrame, training: pd.DataFrame | None = None
) -> Variance:
    """Split the variance of scores, each task standardised over the models, by the method of moments.

    Of z = model + task + rest, the mean square of the rest is what is left; it is the sum of the
    interaction of model and task, of the sampling of items and of chance in training. The variance of
    models is what of that within a task (1, as tasks are standardised) is not left. For items stands the
    mean square of the standardised standard errors, for training the variance in `training` of each cell
    (`estimate_training_variance` has it for two runs), and for the interaction what of the rest is then over. Missing
    cells are allowed. Errors of items are taken as each model's own; where all models answer the same items a part
    of them is the task's, and the share of items is rather too large.
    """
    spread = scores.std(ddof=1)
    spread = spread[spread > 1e-12]
    values = scores[spread.index] / spread
    left = compute_residual_variance(values.to_numpy(dtype=float))
    items = _mean((stderrs[spread.index] / spread).where(values.notna()) ** 2)
    chance = math.nan if training is None else _mean(training[spread.index] / spread**2)
    together = left - float(np.nansum([items, chance]))
    return Variance(1 - left, left, together, items, chance, len(spread))


def compute_residual_variance(values: np.ndarray) -> float:
    """Compute the mean square of what models (rows) and tasks (columns) leave of the values; NaN if nothing is left.

    By least squares over the known cells; the divisor is their number less that of the effects.
    Each model's effect is the mean of what the tasks' effects leave of it, so that these alone are solved for.
    """
    values = values[(~np.isnan(values)).any(axis=1)]
    count = (~np.isnan(values)).astype(float)
    filled = np.nan_to_num(values)
    weights = count / count.sum(axis=1, keepdims=True)
    normal = np.diag(count.sum(axis=0)) - count.T @ weights
    sums = filled.sum(axis=0) - weights.T @ filled.sum(axis=1)
    effects, _, rank, _ = np.linalg.lstsq(normal, sums, rcond=1e-10)
    freedom = int(count.sum()) - len(values) - int(rank)
    if freedom < 1:
        return math.nan
    rest = pd.DataFrame(values - effects)
    return float(rest.sub(rest.mean(axis=1), axis=0).pow(2).sum().sum() / freedom)


def estimate_training_variance(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compute the variance that training has in each cell, from two runs that trained the same models: one number.

    Both ask the same items, which cancel in the differences; and a shift of a whole task or model is no
    chance of a cell. Half the mean square of what is left of the differences, task by task in units of
    the scores' spread, is what one training has. Cells that are equal in both, because they were not
    trained twice, count as they are: it is then rather too small.
    """
    spread = first.std(ddof=1)
    differences = (first - second.reindex_like(first)) / spread.where(spread > 1e-12)
    values = differences.dropna(axis=1, how="all").to_numpy(dtype=float)
    return (first * 0 + compute_residual_variance(values) / 2) * spread**2


def _mean(values: pd.DataFrame) -> float:
    return float(values.stack().mean())
