"""One number for many tasks: the principal components of standardised scores."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import over_families


class PrincipalComponents(NamedTuple):
    """Components are named PC1, PC2 and so on."""

    scores: pd.DataFrame
    """Models in rows, components in columns, 100 times the component, as published."""
    explained_variance_ratio: pd.Series
    """Share of the variance of all standardised scores, by component."""


def principal_components(scores: pd.DataFrame) -> PrincipalComponents:
    """Compute the principal components of the scores (models in rows, tasks in columns), larger being better.

    Z has the scores with each task's mean m taken off and divided by its standard deviation s
    (divisor: the number of models). With Z = U S V', the component k of the models is 100 U_k S_k
    = 100 Z V_k, and its share of the variance S_k^2 / sum_j S_j^2. The sign of each component is such
    that its loadings V_k sum to something positive: better on most tasks is larger.

    A missing cell is refused, never filled.
    """
    shape, spread, _ = _decompose(scores)
    names = component_names(len(spread))
    return PrincipalComponents(
        pd.DataFrame(100 * shape * spread, index=scores.index, columns=names),
        pd.Series(spread**2 / (spread**2).sum(), index=names),
    )


def component_loadings(scores: pd.DataFrame) -> pd.DataFrame:
    """Compute V of `principal_components`: tasks in rows, components in columns of length 1."""
    _, spread, loadings = _decompose(scores)
    return pd.DataFrame(loadings.T, index=scores.columns, columns=component_names(len(spread)))


def component_names(count: int) -> list[str]:
    return [f"PC{number}" for number in range(1, count + 1)]


def explained_over_families(scores: pd.DataFrame, families: pd.Series) -> pd.DataFrame:
    """Compute the interval of each explained variance ratio, had other families been taken: low, high, groups, of.

    Within 0 and 1. The last components of few models hardly occur without a family: their intervals
    mean little. A task on which the models that are left score alike has no variance to share.
    """
    values = scores.to_numpy(dtype=float)
    names = component_names(min(values.shape))

    def compute_ratios(kept: np.ndarray) -> np.ndarray:
        standard = _standardise(values[kept])
        spread = np.linalg.eigvalsh(standard.T @ standard)[::-1].clip(min=0)
        total = spread.sum()
        return (spread / total if total > 0 else np.full_like(spread, np.nan))[: len(names)]

    reach = over_families(compute_ratios, families)
    ends = {"low": reach.low.clip(0, 1), "high": reach.high.clip(0, 1)}
    return pd.DataFrame(ends, names).assign(groups=reach.groups, of=reach.of)


def compute_first_component(values: np.ndarray) -> np.ndarray:
    """Compute 100 times the first component of models in rows, by the eigenvectors of Z'Z."""
    standard = _standardise(values)
    _, vectors = np.linalg.eigh(standard.T @ standard)
    loadings = vectors[:, -1]
    return 100 * np.einsum("mt,t->m", standard, loadings * (-1.0 if loadings.sum() < 0 else 1.0))


def _standardise(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    # Equal numbers may differ from their mean in the last digit, which is no spread.
    none = spread <= 1e-12 * (1 + np.abs(values).max(axis=0))
    return np.where(none, 0.0, centred / np.where(none, 1.0, spread))


def _decompose(scores: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if scores.isna().to_numpy().any():
        raise ValueError("scores has missing cells; expected none, as none is filled.")
    standard = _standardise(scores.to_numpy(dtype=float))
    shape, spread, loadings = np.linalg.svd(standard, full_matrices=False)
    signs = np.where(loadings.sum(axis=1) < 0, -1.0, 1.0)
    return shape * signs, spread, loadings * signs[:, None]
