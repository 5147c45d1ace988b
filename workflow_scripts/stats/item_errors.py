"""What the drawing of a task's items does to the scores of several models at once.

All models answer the same items, and mostly find the same ones hard: drawn again, their scores move
together. So the errors of a task are a covariance between models and not one error a model.
"""

from dataclasses import dataclass

import numpy as np

# Models and protocols, beyond which a covariance is kept as so many factors; the rest is each one's own.
_EXACT, _FACTORS = 512, 64


@dataclass(frozen=True)
class ItemErrors:
    """Of one task, a model a row: errors, and how they go together.

    `shared` has a column for whatever moves several models, `own` what moves each alone; a cell of
    which no error is known is NaN in both.
    """

    shared: np.ndarray
    own: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        return (self.shared**2).sum(axis=1) + self.own**2

    def of_difference(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The variance of the difference of the models in these places; 0 between a model and itself."""
        if len(first) < len(self.shared) ** 2 // 4:
            together = np.einsum("pk,pk->p", self.shared[first], self.shared[second])
        else:  # nearly all pairs
            together = (self.shared @ self.shared.T)[first, second]
        variances = self.variances
        apart = variances[first] + variances[second] - 2 * together
        return np.where(first == second, 0.0 * apart, apart.clip(0))

    def drawn(self, common: np.ndarray, own: np.ndarray) -> np.ndarray:
        """By how much each score moves with another draw of items; both are standard normal numbers."""
        return self.shared @ common + self.own * own

    def part(self, rows: np.ndarray) -> "ItemErrors":
        """Those in these places; place -1 is of a model of which nothing is known."""
        known = rows >= 0
        shared = np.where(known[:, None], self.shared[rows], np.nan)
        return ItemErrors(shared, np.where(known, self.own[rows], np.nan))

    def where(self, kept: np.ndarray, other: "ItemErrors") -> "ItemErrors":
        """These errors of the models that are `kept`, and the others' of the others."""
        shared = np.where(kept[:, None], self.shared, other.shared)
        return ItemErrors(shared, np.where(kept, self.own, other.own))


def assumed_errors(stderrs: np.ndarray, correlation: float) -> ItemErrors:
    """From each score's own standard error, correlated between any two models alike."""
    shared = np.sqrt(correlation) * stderrs[:, None]
    return ItemErrors(shared, np.sqrt(1 - correlation) * stderrs)


def measured_errors(influences: np.ndarray, hidden: np.ndarray) -> ItemErrors:
    """From what each cluster of items adds to each model's score (models in rows, clusters in columns).

    Rows sum to 0. The covariance is that of a mean over clusters, the sum of products times m / (m - 1).
    Where all items came out alike nothing is seen to vary, though it could have: `hidden` is added to
    each model's variance, as its own.
    """
    clusters = influences.shape[1]
    influences = influences * np.sqrt(clusters / max(clusters - 1, 1))
    if len(influences) <= _EXACT:
        # The root that is symmetric: of all that have this product it alone is the same each time.
        sizes, vectors = np.linalg.eigh(influences @ influences.T)
        shared = (vectors * np.sqrt(sizes.clip(0))) @ vectors.T
    else:
        left, sizes, _ = np.linalg.svd(influences, full_matrices=False)
        shared = (left * sizes)[:, :_FACTORS]
    variances = (influences**2).sum(axis=1) + hidden
    return ItemErrors(shared, np.sqrt((variances - (shared**2).sum(axis=1)).clip(0)))


def with_others(measured: ItemErrors, stderrs: np.ndarray, correlation: float) -> ItemErrors:
    """Measured errors of the first models, and of further ones that only standard errors are known of.

    What all measured models have in common, the first factor of theirs, moves the others as well.
    """
    scaled = measured.shared / np.sqrt(measured.variances.clip(1e-300))[:, None]
    common = scaled.mean(axis=0)
    length = np.linalg.norm(common)
    direction = common / length if length else common
    others = np.sqrt(correlation) * stderrs[:, None] * direction
    own = np.sqrt(stderrs**2 - (others**2).sum(axis=1))
    return ItemErrors(np.vstack([measured.shared, others]), np.concatenate([measured.own, own]))
