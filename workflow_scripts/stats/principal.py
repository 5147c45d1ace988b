"""One number for many tasks: the principal components of standardised scores."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import TAILS, checked_draws, checked_scores


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


def bootstrapped_variance(scores: pd.DataFrame, draws: int, seed: int = 0) -> pd.DataFrame:
    """Interval of each explained variance ratio r, had other models been taken: low, high.

    Ratios are computed again for samples of as many models, drawn with replacement. Samples of few
    models repeat some, and lie on fewer components than the models they are drawn from; so the spread
    of the samples is taken and set around r: [r + q_low - mean, r + q_high - mean], within 0 and 1 and
    never without r itself. The last components of few models hardly occur in samples: their intervals
    mean little.
    In a sample in which all models score the same on a task, that task has no variance to share. NaN
    for fewer than three models.
    """
    values = _complete(scores)
    names = component_names(min(values.shape))
    if len(values) < 3:
        return pd.DataFrame({"low": np.nan, "high": np.nan}, index=names)
    generator = np.random.default_rng(seed)
    sampled = generator.integers(len(values), size=(checked_draws(draws), len(values)))
    # One after the other: all samples of many models at once would fill the memory.
    ratios = np.concatenate([variance_ratios(values[one][None]) for one in sampled])
    ratios = ratios[:, : len(names)]
    measured = principal_components(scores).explained_variance_ratio.to_numpy()
    low, high = np.nanquantile(ratios, TAILS, axis=0) - np.nanmean(ratios, axis=0) + measured
    low, high = np.minimum(low, measured).clip(0, 1), np.maximum(high, measured).clip(0, 1)
    return pd.DataFrame({"low": low, "high": high}, index=names)


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
