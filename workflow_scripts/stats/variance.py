"""Components of the variance of scores: model, model-task interaction, items, and training."""

import math

import numpy as np
import pandas as pd

PARTS = ["model", "together", "items", "training"]
RELIABLE = 0.9  # reliability of a mean over tasks


def decompose_variance(
    scores: pd.DataFrame, stderrs: pd.DataFrame, training: pd.DataFrame | None = None
) -> dict[str, float]:
    """Split the variance of scores, each task standardised over the models, by the method of moments.

    In z = model + task + residual, the mean square of the residual (`left`) is the sum of the model-task
    interaction, item sampling and training noise. The variance of models (`observed`) is the variance within a task
    (1, as tasks are standardised) minus the residual's. The item component is the mean square of the standardised
    standard errors, the training component the mean variance in `training` (`estimate_training_variance` computes it
    from two runs), and the interaction is the remainder; it includes what is unknown. Missing cells are allowed. Item
    errors are treated as independent between models; as all models answer the same items, part of them belongs to the
    task, so the item component is an overestimate.

    The PARTS are fractions of the sum of the components, clipped at 0. The reliability of the models' means over T
    tasks is m / (m + l / T), from 0 to 1: the correlation of two such means over different tasks (the Spearman-Brown
    formula, and the coefficient of generalizability over tasks).
    """
    spread = scores.std(ddof=1)
    spread = spread[spread > 1e-12]
    values = scores[spread.index] / spread
    left = compute_residual_variance(values.to_numpy(dtype=float))
    items = _mean((stderrs[spread.index] / spread).where(values.notna()) ** 2)
    chance = math.nan if training is None else _mean(training[spread.index] / spread**2)
    together = left - float(np.nansum([items, chance]))
    parts = pd.Series([1 - left, together, items, chance], PARTS).clip(lower=0)
    model, tasks = max(1 - left, 0.0), len(spread)
    return {
        "tasks": tasks,
        "observed": 1 - left,
        "left": left,
        "reliability": model / (model + left / tasks) if tasks else math.nan,
        **(parts / (parts.sum() or math.nan)).to_dict(),
    }


def count_tasks_needed(model: float, left: float) -> float:
    """Compute the number of tasks needed for a reliable mean; NaN if the model variance is not positive."""
    if not model > 0:
        return math.nan
    odds = RELIABLE / (1 - RELIABLE)
    return max(float(math.ceil(odds * left / model - 1e-9)), 1.0)


def compute_residual_variance(values: np.ndarray) -> float:
    """Compute the mean square residual of values after model (row) and task (column) effects; NaN if undefined.

    The effects are fitted by least squares over the known cells; the divisor is the residual degrees of freedom.
    Each model's effect is the mean of its values minus the task effects, so only the task effects are solved for.
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
    """Compute the training variance from two runs that trained the same models; one value for all cells.

    Both runs use the same items, which cancel in the differences; shifts of a whole task or model are removed.
    The variance of one training run is half the mean square residual of the differences, each task in units of
    the scores' standard deviation. Cells that are equal in both runs, because they were not trained twice, are
    included, which makes it an underestimate.
    """
    spread = first.std(ddof=1)
    differences = (first - second.reindex_like(first)) / spread.where(spread > 1e-12)
    values = differences.dropna(axis=1, how="all").to_numpy(dtype=float)
    return (first * 0 + compute_residual_variance(values) / 2) * spread**2


def _mean(values: pd.DataFrame) -> float:
    return float(values.stack().mean())
