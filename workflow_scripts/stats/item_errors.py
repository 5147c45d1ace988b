"""Model the errors of scores from sampling a task's items, which are correlated between models.

All models answer the same items and mostly fail on the same ones, so on another sample their scores change
together. Therefore the errors of a task are a covariance between models, not one standard error per model.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ItemErrors:
    """Errors of one task, with models in rows.

    `shared` has the loadings of the models on the factors (columns) that affect several of them, `independent` the
    standard deviation of the rest of each model's error; both are NaN where the error is unknown. The covariance of
    two models is the scalar product of their rows of `shared`.
    """

    shared: np.ndarray
    independent: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """Error variance of each model's score."""
        return (self.shared**2).sum(axis=1) + self.independent**2

    def compute_difference_variance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute the variance of the difference of each pair of different models, by position."""
        covariance = np.einsum("pk,pk->p", self.shared[first], self.shared[second])
        variances = self.variances
        return (variances[first] + variances[second] - 2 * covariance).clip(0)

    def draw_changes(self, factors: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Compute the change of each score on resampled items from standard normal numbers.

        `factors` has one for each column of `shared`, `noise` one for each model.
        """
        return self.shared @ factors + self.independent * noise

    def select(self, rows: np.ndarray) -> "ItemErrors":
        """Select the models in these positions; position -1 gives a model with unknown errors."""
        nan_if_unknown = np.where(rows >= 0, 0.0, np.nan)
        return ItemErrors(
            self.shared[rows] + nan_if_unknown[:, None], self.independent[rows] + nan_if_unknown
        )

    def where(self, mask: np.ndarray, other: "ItemErrors") -> "ItemErrors":
        """Keep these errors for the models in the mask, and take those of `other` for the rest."""
        shared = np.where(mask[:, None], self.shared, other.shared)
        return ItemErrors(shared, np.where(mask, self.independent, other.independent))


def build_assumed_errors(stderrs: np.ndarray, correlation: float) -> ItemErrors:
    """Build errors from standard errors, with one correlation for all pairs of models."""
    shared = np.sqrt(correlation) * stderrs[:, None]
    return ItemErrors(shared, np.sqrt(1 - correlation) * stderrs)


def build_measured_errors(influences: np.ndarray, hidden: np.ndarray) -> ItemErrors:
    """Build errors from the influence of each cluster of items (columns) on each model's score (rows sum to 0).

    The covariance is that of a mean over m clusters, the sum of products times m / (m - 1). If all items have
    the same result, the measured variance is 0 although the true one is not: the variance `hidden` of each model is
    added to its independent error.
    """
    clusters = influences.shape[1]
    influences = influences * np.sqrt(clusters / max(clusters - 1, 1))
    # The symmetric square root, because it is unique.
    eigenvalues, vectors = np.linalg.eigh(influences @ influences.T)
    shared = (vectors * np.sqrt(eigenvalues.clip(0))) @ vectors.T
    rest = (influences**2).sum(axis=1) + hidden - (shared**2).sum(axis=1)
    return ItemErrors(shared, np.sqrt(rest.clip(0)))


def append_unmeasured_models(
    measured: ItemErrors, stderrs: np.ndarray, correlation: float
) -> ItemErrors:
    """Append models that have only standard errors; they share the mean factor of the measured models."""
    scaled = measured.shared / np.sqrt(measured.variances.clip(1e-300))[:, None]
    direction = scaled.mean(axis=0)
    direction = direction / (np.linalg.norm(direction) or 1.0)
    shared = np.sqrt(correlation) * stderrs[:, None] * direction
    independent = np.sqrt(stderrs**2 - (shared**2).sum(axis=1))
    return ItemErrors(
        np.vstack([measured.shared, shared]),
        np.concatenate([measured.independent, independent]),
    )
