"""Ridge regression over models that come in families, and how far it is off a family that it has not seen."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from workflow_scripts.stats.checks import TAILS

NORMAL = NormalDist().inv_cdf(
    TAILS[1]
)  # standard deviations that 95 % of normal numbers stay within
# Ridge penalties to choose from, as shares of the number of models.
PENALTIES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
FEWEST = 4  # models of a family, below which their errors say too little by themselves


class Learned(NamedTuple):
    """From models in rows: what to predict of a further one of another family, and how wrong that may be."""

    weights: np.ndarray
    """The constant first."""
    inverse: np.ndarray
    errors: np.ndarray
    """Of each model, predicted by the other families alone."""
    slope: float
    """Of the logarithm of an error's size by what is predicted: models that are low stray farther."""
    top: float
    """The largest prediction, beyond which errors are not taken to be smaller still."""
    spread: float

    def predicted(self, models: np.ndarray) -> np.ndarray:
        return _with_one(models) @ self.weights

    def half_width(self, models: np.ndarray) -> np.ndarray:
        """Half of a 95% interval around what is predicted."""
        design = _with_one(models)
        far = (design @ self.inverse * design).sum(axis=1)
        return NORMAL * self.spread * _size(self.slope, design @ self.weights, self.top, far)


def learn(models: np.ndarray, target: np.ndarray, families: np.ndarray) -> Learned:
    """b = (X'X + n p D)^-1 X'y with a constant that D leaves free, and the errors of unseen families.

    Family g is predicted by the others, whose inverse A_g is without its part of X'X, with the errors e_g, and
    the diagonal of X_g A_g X_g' says how far its models lie from the others' (their leverage).
    The penalty p is that of the least sum of squared errors. Their size is modelled as
    exp(slope y) sqrt(1 + leverage), by least squares on logarithms with a slope of at most 0, times a
    spread s, where s^2 is (F + 1) / F times the mean square of the family that strays farthest of F: each
    family shall be held, and a further one may stray farther than all. Those of fewer than four models
    count as one.
    """
    design = _with_one(models)
    free = len(design) * np.eye(design.shape[1])
    free[0, 0] = 0.0
    members = [np.flatnonzero(families == one) for one in np.unique(families)]
    gram, moment = design.T @ design, design.T @ target
    penalised = gram + np.multiply.outer(PENALTIES, free)  # with all penalties at once
    tried, fars = np.empty((2, len(PENALTIES), len(target)))
    for of in members:
        own = design[of]
        others = np.linalg.inv(penalised - own.T @ own)
        tried[:, of] = target[of] - others @ (moment - own.T @ target[of]) @ own.T
        fars[:, of] = (own @ others * own).sum(axis=-1)
    least = (tried**2).sum(axis=1).argmin()
    inverse, errors, far = np.linalg.inv(penalised[least]), tried[least], fars[least]
    predicted, top = target - errors, float((target - errors).max())
    # An error near 0 says little of its size and would have a logarithm without bound.
    sizes = np.maximum(np.abs(errors), np.median(np.abs(errors)) / 10 + 1e-12)
    across = predicted - predicted.mean()
    logs = np.log(sizes) - np.log1p(far) / 2
    slope = min(float(across @ logs / max(across @ across, 1e-12)), 0.0)
    scaled = errors / _size(slope, predicted, top, far)
    large = [of for of in members if len(of) >= FEWEST]
    small = [of for of in members if len(of) < FEWEST]
    groups = [*large, *([np.concatenate(small)] if small else [])]
    farthest = max(float((scaled[of] ** 2).mean()) for of in groups)
    spread = np.sqrt(farthest * (len(members) + 1) / len(members))
    return Learned(inverse @ moment, inverse, errors, slope, top, spread)


def _size(slope: float, predicted: np.ndarray, top: float, far: np.ndarray) -> np.ndarray:
    return np.exp(slope * np.minimum(predicted, top)) * np.sqrt(1 + far)


def _with_one(models: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(models)), models])
