"""Ridge regression over models that come in families, and its error on a family that it has not seen."""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from workflow_scripts.stats.significance import TAILS

NORMAL = NormalDist().inv_cdf(TAILS[1])  # standard deviations that hold 95% of normal numbers
# Ridge penalties to choose from, as fractions of the number of models.
PENALTIES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
FEWEST = 4  # models of a family, below which their errors say too little by themselves


class RidgeFit(NamedTuple):
    """A ridge regression on models in rows, with the size of its errors on another family."""

    weights: np.ndarray
    """The constant first."""
    inverse: np.ndarray
    errors: np.ndarray
    """Of each model, predicted by the other families alone."""
    slope: float
    """Of the logarithm of an error's size by the prediction: low models have larger errors."""
    top: float
    """The largest prediction, beyond which errors are not assumed to shrink further."""
    spread: float

    def predicted(self, models: np.ndarray) -> np.ndarray:
        return _add_constant(models) @ self.weights

    def half_width(self, models: np.ndarray) -> np.ndarray:
        """Compute half of the 95% interval around each prediction."""
        design = _add_constant(models)
        leverage = (design @ self.inverse * design).sum(axis=1)
        predicted = np.minimum(design @ self.weights, self.top)
        return NORMAL * self.spread * _model_size(self.slope, predicted, leverage)


def fit_ridge(models: np.ndarray, target: np.ndarray, families: np.ndarray) -> RidgeFit:
    """Fit b = (X'X + n p D)^-1 X'y with a constant that D leaves free, and the errors of unseen families.

    Family g is predicted by the others, whose inverse A_g is without its part of X'X, with the errors e_g, and
    the diagonal of X_g A_g X_g' says how far its models lie from the others' (their leverage).
    The penalty p is that of the least sum of squared errors. Their size is modelled as
    exp(slope y) sqrt(1 + leverage), by least squares on logarithms with a slope of at most 0, times a
    spread s, where s^2 is (F + 1) / F times the largest mean square of a family of F: each
    family shall be held, and a further one may have larger errors than all. Those of fewer than four models
    count as one.
    """
    design = _add_constant(models)
    free = len(design) * np.eye(design.shape[1])
    free[0, 0] = 0.0
    members = [np.flatnonzero(families == family) for family in np.unique(families)]
    gram, moment = design.T @ design, design.T @ target
    penalised = gram + np.multiply.outer(PENALTIES, free)  # with all penalties at once
    errors, leverages = np.empty((2, len(PENALTIES), len(target)))
    for rows in members:
        own = design[rows]
        others = np.linalg.inv(penalised - own.T @ own)
        errors[:, rows] = target[rows] - others @ (moment - own.T @ target[rows]) @ own.T
        leverages[:, rows] = (own @ others * own).sum(axis=-1)
    best = (errors**2).sum(axis=1).argmin()
    inverse, error, leverage = np.linalg.inv(penalised[best]), errors[best], leverages[best]
    predicted = target - error
    # An error near 0 says little of its size and would have a logarithm without bound.
    sizes = np.maximum(np.abs(error), np.median(np.abs(error)) / 10 + 1e-12)
    centred = predicted - predicted.mean()
    logs = np.log(sizes) - np.log1p(leverage) / 2
    slope = min(float(centred @ logs / max(centred @ centred, 1e-12)), 0.0)
    squares = (error / _model_size(slope, predicted, leverage)) ** 2
    small = [rows for rows in members if len(rows) < FEWEST]
    groups = [rows for rows in members if len(rows) >= FEWEST]
    groups += [np.concatenate(small)] if small else []
    largest = max(float(squares[rows].mean()) for rows in groups)
    spread = np.sqrt(largest * (len(members) + 1) / len(members))
    return RidgeFit(inverse @ moment, inverse, error, slope, float(predicted.max()), spread)


def predict_held_out(
    choose: Callable[[np.ndarray], np.ndarray], target: np.ndarray, families: np.ndarray
) -> np.ndarray:
    """Predict each model by the other families alone: rows of a prediction and half of its 95% interval.

    `choose` returns all models' scores to predict by, given the mask of the others. Penalty and width are chosen
    again without the family, so that the fraction of intervals that hold is what a new family's model may count on.
    """
    predicted = np.empty((len(target), 2))
    for family in np.unique(families):
        others = families != family
        scores = choose(others)
        learned, own = fit_ridge(scores[others], target[others], families[others]), scores[~others]
        predicted[~others] = np.column_stack([learned.predicted(own), learned.half_width(own)])
    return predicted


def _model_size(slope: float, predicted: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    return np.exp(slope * predicted) * np.sqrt(1 + leverage)


def _add_constant(models: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(models)), models])
