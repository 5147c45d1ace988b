"""Compute principal components of standardised scores, to summarise many tasks in one number."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import compute_family_jackknife


class PrincipalComponents(NamedTuple):
    """Principal components PC1, PC2 and so on."""

    scores: pd.DataFrame
    """Models in rows, components in columns, multiplied by 100 as in the published leaderboard."""
    explained_variance_ratio: pd.Series
    """Fraction of the variance of all standardised scores, by component."""
    loadings: pd.DataFrame
    """Tasks in rows, components in columns of unit length."""


def compute_principal_components(scores: pd.DataFrame) -> PrincipalComponents:
    """Compute the principal components of the scores (models in rows, tasks in columns; larger is better).

    Z has the scores standardised by each task's mean and standard deviation (divisor: the number of
    models). With Z = U S V', component k of the models is 100 U_k S_k = 100 Z V_k, and its explained
    variance ratio is S_k^2 / sum_j S_j^2. The sign of each component is chosen so that its loadings V_k
    have a positive sum: models that are better on most tasks have larger values.

    Missing cells are not allowed.
    """
    standard = _standardise(scores.to_numpy(dtype=float))
    left, singular, right = np.linalg.svd(standard, full_matrices=False)
    signs = np.where(right.sum(axis=1) < 0, -1.0, 1.0)
    names = list_component_names(len(singular))
    return PrincipalComponents(
        pd.DataFrame(100 * (left * signs) * singular, scores.index, names),
        pd.Series(singular**2 / (singular**2).sum(), names),
        pd.DataFrame(right.T * signs, scores.columns, names),
    )


def list_component_names(count: int) -> list[str]:
    """List PC1, PC2 and so on."""
    return [f"PC{number}" for number in range(1, count + 1)]


def compute_variance_intervals(scores: pd.DataFrame, families: pd.Series) -> pd.DataFrame:
    """Compute the jackknife interval over families of each explained variance ratio, a row per component.

    The columns are `low` and `high`, the number of jackknife `groups`, and what a group is (`of`).
    Intervals are clipped to 0 and 1. The last components of few models nearly vanish without a family, so their
    intervals are unreliable. A task on which the remaining models score the same contributes no variance.
    """
    values = scores.to_numpy(dtype=float)
    names = list_component_names(min(values.shape))

    def compute_ratios(mask: np.ndarray) -> np.ndarray:
        standard = _standardise(values[mask])
        variances = np.linalg.eigvalsh(standard.T @ standard)[::-1].clip(min=0)
        return (variances / (variances.sum() or np.nan))[: len(names)]

    interval = compute_family_jackknife(compute_ratios, families)
    ends = {"low": interval.low.clip(0, 1), "high": interval.high.clip(0, 1)}
    return pd.DataFrame(ends, names).assign(groups=interval.groups, of=interval.unit)


def compute_first_component(values: np.ndarray) -> np.ndarray:
    """Compute 100 times the first component of models (rows) from the eigenvectors of Z'Z."""
    standard = _standardise(values)
    loadings = np.linalg.eigh(standard.T @ standard)[1][:, -1]
    return 100 * np.einsum("mt,t->m", standard, loadings * (-1.0 if loadings.sum() < 0 else 1.0))


def _standardise(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    # Equal numbers may differ from their mean in the last digit, which must not count as spread.
    flat = spread <= 1e-12 * (1 + np.abs(values).max(axis=0))
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
