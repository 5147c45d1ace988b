"""Components of the variance of scores: model, model-task interaction, items, and training."""

import math

import numpy as np
import pandas as pd

PARTS = ["model", "together", "items", "training"]
TARGET_RELIABILITY = 0.9  # of the mean over tasks that `count_tasks_needed` asks for


def decompose_variance(
    scores: pd.DataFrame, stderrs: pd.DataFrame, training: pd.DataFrame | None = None
) -> dict[str, float]:
    """Split the variance of scores, each task standardised over the models, by the method of moments.

    In z = model + task + residual, the mean square of the residual (`left`) is the sum of the model-task
    interaction (`together`), item sampling and training noise. The variance of models (`observed`) is the variance
    within a task (1, as tasks are standardised) minus the residual's. The item component is the mean square of the
    standardised standard errors, the training component the mean of the variances in `training`
    (`estimate_training_variance` computes them from two runs), and the interaction is the remainder; it includes what
    is unknown. Missing cells are allowed. Item errors are treated as independent between models; as all models answer
    the same items, part of them belongs to the task, so the item component is an overestimate.

    The PARTS are fractions of the sum of the components, clipped at 0. The reliability of the models' means over T
    tasks is m / (m + l / T), from 0 to 1, with the variances m of models and l of the residual: the correlation of two
    such means over different tasks (the Spearman-Brown formula, and the coefficient of generalizability over tasks).
    """
    spread = scores.std(ddof=1)
    spread = spread[spread > 1e-12]
    values = scores[spread.index] / spread
    residual = compute_residual_variance(values.to_numpy(dtype=float))
    items = _average_cells((stderrs[spread.index] / spread).where(values.notna()) ** 2)
    retraining = math.nan
    if training is not None:
        retraining = _average_cells(training[spread.index] / spread**2)
    interaction = residual - float(np.nansum([items, retraining]))
    parts = pd.Series([1 - residual, interaction, items, retraining], PARTS).clip(lower=0)
    tasks = len(spread)
    model = max(1 - residual, 0.0)
    return {
        "tasks": tasks,
        "observed": 1 - residual,
        "left": residual,
        "reliability": model / (model + residual / tasks) if tasks else math.nan,
        **(parts / (parts.sum() or math.nan)).to_dict(),
    }


def count_tasks_needed(model: float, residual: float) -> float:
    """Compute how many tasks a mean of TARGET_RELIABILITY needs, from the variances of models and residual.

    It is NaN if the variance of models is not positive.
    """
    if not model > 0:
        return math.nan
    odds = TARGET_RELIABILITY / (1 - TARGET_RELIABILITY)
    return max(float(math.ceil(odds * residual / model - 1e-9)), 1.0)


def compute_residual_variance(values: np.ndarray) -> float:
    """Compute the mean square residual of values after model (row) and task (column) effects; NaN if undefined.

    The effects are fitted by least squares over the known cells; the divisor is the residual degrees of freedom.
    Each model's effect is the mean of its values minus the task effects, so only the task effects are solved for.
    """
    values = values[(~np.isnan(values)).any(axis=1)]
    measured = (~np.isnan(values)).astype(float)
    filled = np.nan_to_num(values)
    weights = measured / measured.sum(axis=1, keepdims=True)
    normal_matrix = np.diag(measured.sum(axis=0)) - measured.T @ weights
    sums = filled.sum(axis=0) - weights.T @ filled.sum(axis=1)
    effects, _, rank, _ = np.linalg.lstsq(normal_matrix, sums, rcond=1e-10)
    df = int(measured.sum()) - len(values) - int(rank)
    if df < 1:
        return math.nan
    rest = pd.DataFrame(values - effects)
    return float(rest.sub(rest.mean(axis=1), axis=0).pow(2).sum().sum() / df)


def estimate_training_variance(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compute the training variance of each measured cell of `first` from two runs that trained the same models.

    Both runs use the same items, which cancel in the differences; shifts of a whole task or model are removed.
    The variance of one training run is half the mean square residual of the differences, each task in units of
    the scores' standard deviation; in these units all cells have the same variance. Cells that are equal in both runs,
    because they were not trained twice, are included, which makes it an underestimate.
    """
    spread = first.std(ddof=1)
    differences = (first - second.reindex_like(first)) / spread.where(spread > 1e-12)
    values = differences.dropna(axis=1, how="all").to_numpy(dtype=float)
    return (first * 0 + compute_residual_variance(values) / 2) * spread**2


def _average_cells(values: pd.DataFrame) -> float:
    return float(values.stack().mean())
