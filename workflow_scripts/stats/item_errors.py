"""How sampling a task's items moves the scores of several models at once.

All models answer the same items, and mostly find the same ones hard: on another sample their scores move
together. So the errors of a task are a covariance between models and not one error a model.
"""

from dataclasses import dataclass

import numpy as np

# Beyond so many models and protocols a covariance is stored as so many factors, and the rest as each one's own.
_MAX_EXACT, _FACTORS = 512, 64


@dataclass(frozen=True)
class ItemErrors:
    """Errors of one task, a model a row.

    `shared` has a column for each factor that moves several models, `own` the standard deviation of what
    moves each alone; a cell of unknown error is NaN in both.
    """

    shared: np.ndarray
    own: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        return (self.shared**2).sum(axis=1) + self.own**2

    def compute_difference_variance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute the variance of the difference of two models, by their positions; 0 between a model and itself."""
        covariance = np.einsum("pk,pk->p", self.shared[first], self.shared[second])
        variances = self.variances
        variance = variances[first] + variances[second] - 2 * covariance
        return np.where(first == second, 0.0 * variance, variance.clip(0))

    def drawn(self, common: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Compute by how much each score moves with other items; both arguments are standard normal numbers."""
        return self.shared @ common + self.own * own

    def part(self, rows: np.ndarray) -> "ItemErrors":
        """Select the models in these positions; position -1 is of a model with unknown errors."""
        unknown = np.where(rows >= 0, 0.0, np.nan)
        return ItemErrors(self.shared[rows] + unknown[:, None], self.own[rows] + unknown)

    def where(self, mask: np.ndarray, other: "ItemErrors") -> "ItemErrors":
        """Take these errors of the models in the mask, and the others' of the others."""
        shared = np.where(mask[:, None], self.shared, other.shared)
        return ItemErrors(shared, np.where(mask, self.own, other.own))


def build_assumed_errors(stderrs: np.ndarray, correlation: float) -> ItemErrors:
    """Build errors from standard errors, with the same correlation between any two models."""
    shared = np.sqrt(correlation) * stderrs[:, None]
    return ItemErrors(shared, np.sqrt(1 - correlation) * stderrs)


def build_measured_errors(influences: np.ndarray, hidden: np.ndarray) -> ItemErrors:
    """Build errors from what each cluster of items (columns) adds to each model's score (rows, which sum to 0).

    The covariance is that of a mean over clusters, the sum of products times m / (m - 1). Where all items
    came out alike no variance is measured, though there is some: `hidden` is added to each model's own.
    """
    clusters = influences.shape[1]
    influences = influences * np.sqrt(clusters / max(clusters - 1, 1))
    if len(influences) <= _MAX_EXACT:
        # The symmetric root: of all with this product it alone is unique.
        eigenvalues, vectors = np.linalg.eigh(influences @ influences.T)
        shared = (vectors * np.sqrt(eigenvalues.clip(0))) @ vectors.T
    else:
        left, singular, _ = np.linalg.svd(influences, full_matrices=False)
        shared = (left * singular)[:, :_FACTORS]
    own = (influences**2).sum(axis=1) + hidden - (shared**2).sum(axis=1)
    return ItemErrors(shared, np.sqrt(own.clip(0)))


def append_unmeasured_models(
    measured: ItemErrors, stderrs: np.ndarray, correlation: float
) -> ItemErrors:
    """Append models with nothing but standard errors, which move with the mean factor of the measured ones."""
    scaled = measured.shared / np.sqrt(measured.variances.clip(1e-300))[:, None]
    direction = scaled.mean(axis=0)
    direction = direction / (np.linalg.norm(direction) or 1.0)
    shared = np.sqrt(correlation) * stderrs[:, None] * direction
    own = np.sqrt(stderrs**2 - (shared**2).sum(axis=1))
    return ItemErrors(np.vstack([measured.shared, shared]), np.concatenate([measured.own, own]))
