"""Ridge regression over models, with its prediction error on unseen model families."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workflow_scripts.stats.significance import NORMAL_HALF_WIDTH

# Ridge penalties to choose from, as fractions of the number of models.
PENALTIES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
MIN_FAMILY_MODELS = 4  # fewest models of a family for a mean squared error of its own


class RidgeFit(NamedTuple):
    """A ridge regression on models in rows, with a model of its errors on unseen families."""

    weights: np.ndarray
    """Coefficients, the intercept first."""
    inverse: np.ndarray
    """Inverse of the penalised X'X, which gives the leverage of a model."""
    errors: np.ndarray
    """Prediction error of each model, fitted on the other families."""
    slope: float
    """Slope of the log absolute error over the prediction: low-scoring models have larger errors."""
    top: float
    """The largest prediction; beyond it errors are not assumed to shrink further."""
    scale: float
    """Factor s of the size of errors (`fit_ridge`)."""

    def predict(self, models: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predict models, and compute the half-width of the 95% interval around each prediction."""
        design = _add_constant(models)
        predicted = design @ self.weights
        leverage = (design @ self.inverse * design).sum(axis=1)
        size = _compute_error_size(self.slope, np.minimum(predicted, self.top), leverage)
        return predicted, NORMAL_HALF_WIDTH * self.scale * size


def fit_ridge(models: np.ndarray, target: np.ndarray, families: np.ndarray) -> RidgeFit:
    """Fit b = (X'X + n p D)^-1 X'y with an unpenalised intercept, and model the errors on unseen families.

    Each family g is predicted from the others: A_g is the inverse without the family's part of X'X, e_g are the
    errors, and the diagonal of X_g A_g X_g' is the leverage of its models.
    The penalty p minimises the sum of squared errors. The size of errors is modelled as
    s exp(slope y) sqrt(1 + leverage), with a slope of at most 0 from least squares on logarithms. s^2 is
    (F + 1) / F times the largest mean square over the F families: the interval should cover each
    family, and an unseen one may have larger errors than all of them. Families of fewer than four models
    are pooled.
    """
    design = _add_constant(models)
    penalty_matrix = len(design) * np.eye(design.shape[1])
    penalty_matrix[0, 0] = 0.0
    members = [np.flatnonzero(families == family) for family in np.unique(families)]
    gram = design.T @ design
    moment = design.T @ target
    penalised = gram + np.multiply.outer(PENALTIES, penalty_matrix)  # one matrix per penalty
    errors, leverages = np.empty((2, len(PENALTIES), len(target)))
    for rows in members:
        family_design = design[rows]
        inverses = np.linalg.inv(penalised - family_design.T @ family_design)
        other_moment = moment - family_design.T @ target[rows]
        errors[:, rows] = target[rows] - inverses @ other_moment @ family_design.T
        leverages[:, rows] = (family_design @ inverses * family_design).sum(axis=-1)
    best = (errors**2).sum(axis=1).argmin()
    inverse = np.linalg.inv(penalised[best])
    error = errors[best]
    leverage = leverages[best]
    predicted = target - error
    # Errors near 0 are bounded below, as their logarithms would dominate the fit.
    sizes = np.maximum(np.abs(error), np.median(np.abs(error)) / 10 + 1e-12)
    centred = predicted - predicted.mean()
    logs = np.log(sizes) - np.log1p(leverage) / 2
    slope = min(float(centred @ logs / max(centred @ centred, 1e-12)), 0.0)
    squares = (error / _compute_error_size(slope, predicted, leverage)) ** 2
    small = [rows for rows in members if len(rows) < MIN_FAMILY_MODELS]
    groups = [rows for rows in members if len(rows) >= MIN_FAMILY_MODELS]
    if small:
        groups.append(np.concatenate(small))
    largest = max(float(squares[rows].mean()) for rows in groups)
    scale = np.sqrt(largest * (len(members) + 1) / len(members))
    return RidgeFit(inverse @ moment, inverse, error, slope, float(predicted.max()), scale)


def predict_held_out(
    choose: Callable[[np.ndarray], np.ndarray], target: np.ndarray, families: np.ndarray
) -> np.ndarray:
    """Predict each model from the other families: rows of a prediction and the half-width of its 95% interval.

    `choose` gets the mask of the other families' models and returns the predictors of all models. Penalty and width
    are chosen without the family, so the coverage of the intervals is an estimate for a new family.
    """
    predicted = np.empty((len(target), 2))
    for family in np.unique(families):
        others = families != family
        scores = choose(others)
        ridge = fit_ridge(scores[others], target[others], families[others])
        predicted[~others] = np.column_stack(ridge.predict(scores[~others]))
    return predicted


def _compute_error_size(slope: float, predicted: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    return np.exp(slope * predicted) * np.sqrt(1 + leverage)


def _add_constant(models: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(models)), models])
