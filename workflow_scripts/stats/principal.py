"""One number for many tasks: the principal components of standardised scores."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores
from workflow_scripts.stats.jackknife import over_families


class PrincipalComponents(NamedTuple):
    """What `principal_components` found; components are named PC1, PC2 and so on."""

    scores: pd.DataFrame
    """Models in rows, components in columns, 100 times the component, as published."""
    explained_variance_ratio: pd.Series
    """Share of the variance of all standardised scores, by component."""


def principal_components(scores: pd.DataFrame) -> PrincipalComponents:
    """Principal components of the scores (models in rows, tasks in columns), larger being better.

    Z has the scores with each task's mean m taken off and divided by its standard deviation s
    (divisor: the number of models). With Z = U S V', the component k of the models is 100 U_k S_k
    = 100 Z V_k, and its share of the variance S_k^2 / sum_j S_j^2. The sign of each component is such
    that its loadings V_k sum to something positive: better on most tasks is larger.

    A missing cell is refused, never filled, and so is a task on which all models score the same,
    which cannot be standardised.
    """
    values = _complete(scores)
    standard = _standardised(values, scores)
    shape, spread, _ = _decomposed(standard)
    names = component_names(len(spread))
    return PrincipalComponents(
        pd.DataFrame(100 * shape * spread, index=scores.index, columns=names),
        pd.Series(spread**2 / (spread**2).sum(), index=names),
    )


def component_loadings(scores: pd.DataFrame) -> pd.DataFrame:
    """Tasks in rows, components in columns: V of `principal_components`, columns of length 1."""
    _, spread, loadings = _decomposed(_standardised(_complete(scores), scores))
    return pd.DataFrame(loadings.T, index=scores.columns, columns=component_names(len(spread)))


def component_names(count: int) -> list[str]:
    return [f"PC{at + 1}" for at in range(count)]


def explained_over_families(scores: pd.DataFrame, families: pd.Series) -> pd.DataFrame:
    """Interval of each explained variance ratio, had other families been taken: low, high, groups, of.

    Within 0 and 1. The last components of few models hardly occur without a family: their intervals
    mean little. A task on which the models that are left score alike has no variance to share.
    """
    values = _complete(scores)
    names = component_names(min(values.shape))

    def ratios(kept: np.ndarray) -> np.ndarray:
        return variance_ratios(values[kept][None])[0, : len(names)]

    reach = over_families(ratios, families)
    ends = {"low": reach.low.clip(0, 1), "high": reach.high.clip(0, 1)}
    return pd.DataFrame(ends, index=names).assign(groups=reach.groups, of=reach.of)


def variance_ratios(stacks: np.ndarray) -> np.ndarray:
    """Explained variance ratios of many score matrices at once, by the eigenvalues of Z'Z."""
    standard = _standard_stacks(stacks)
    spread = np.linalg.eigvalsh(np.swapaxes(standard, 1, 2) @ standard)[:, ::-1].clip(min=0)
    total = spread.sum(axis=1, keepdims=True)
    return np.divide(spread, total, out=np.full_like(spread, np.nan), where=total > 0)


def first_components(stacks: np.ndarray) -> np.ndarray:
    """100 times the first component of many score matrices at once: matrices in rows, models in columns."""
    standard = _standard_stacks(stacks)
    _, vectors = np.linalg.eigh(np.swapaxes(standard, 1, 2) @ standard)
    loadings = vectors[:, :, -1]
    loadings = loadings * _signs(loadings)[:, None]
    return 100 * np.einsum("dmt,dt->dm", standard, loadings)


def _standard_stacks(stacks: np.ndarray) -> np.ndarray:
    centred = stacks - stacks.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    # Equal numbers may differ from their mean in the last digit, which is no spread.
    none = spread <= 1e-12 * (1 + np.abs(stacks).max(axis=1, keepdims=True))
    return np.where(none, 0.0, centred / np.where(none, 1.0, spread))


def _decomposed(standard: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape, spread, loadings = np.linalg.svd(standard, full_matrices=False)
    signs = _signs(loadings)
    return shape * signs, spread, loadings * signs[:, None]


def _signs(loadings: np.ndarray) -> np.ndarray:
    return np.where(loadings.sum(axis=1) < 0, -1.0, 1.0)


def _complete(scores: pd.DataFrame) -> np.ndarray:
    values = checked_scores(scores)
    if len(values) < 2 or values.shape[1] < 1:
        raise ValueError(
            f"scores has {len(values)} models and {values.shape[1]} tasks; expected at least two"
            " models and one task."
        )
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        cells = [f"{scores.index[row]!r} on {scores.columns[column]!r}" for row, column in missing]
        more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        raise ValueError(
            f"scores lacks {', '.join(cells[:3])}{more}; expected no missing cell, as none is filled:"
            " leave out those models or tasks."
        )
    return values


def _standardised(values: np.ndarray, scores: pd.DataFrame) -> np.ndarray:
    standard = _standard_stacks(values[None])[0]
    flat = ~standard.any(axis=0)
    if flat.any():
        raise ValueError(
            f"scores of the task {scores.columns[flat][0]!r} are the same for all models; expected"
            " some spread: leave that task out."
        )
    return standard
