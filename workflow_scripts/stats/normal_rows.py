"""Rows drawn from one normal distribution, with gaps: what is in the gaps, and how sure that is."""

import numpy as np

from workflow_scripts.stats.checks import LEVEL, TAILS

# How far correlations are drawn towards their mean; the best of these is found by cross-validation.
_SHRINKAGE = (0.05, 0.15, 0.3, 0.6, 1.0)
_FOLDS, _SEED = 5, 0
_LEARNT_FROM = 1000  # rows at most: more of them move no correlation by more than 0.03
_ROUNDS, _ROUNDS_TO_CHOOSE = 25, 10  # of EM at most
_SETTLED = 1e-3  # of a correlation, less than which a round changes nothing
_NO_SPREAD = 1e-12


def estimated(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each cell's expectation, which is itself where it is there, and the standard deviation of the gaps.

    Columns are standardised. Mean m and covariance C of the rows are found by the EM algorithm for a normal
    distribution with gaps. C is R with its correlations drawn towards their mean, since a few dozen rows do
    not tell hundreds of correlations: how far is what predicts best the cells of rows that were not fitted.
    Given the known part o of a row, a gap g is expected at m_g + C_go C_oo^-1 (x_o - m_o), with variance
    C_gg - C_go C_oo^-1 C_og. Scores are not quite normal; so the standard deviations are multiplied by what
    makes 95% of those predictions hold within 1.96 of them. Of more than a thousand rows, m, C and the two
    choices are learnt from a thousand, drawn at random.
    """
    gaps, middle = np.isnan(values), _means(values)
    spread = np.sqrt(_means((values - middle) ** 2))
    found, unsure = np.where(gaps, middle, values), np.where(gaps, 0.0, np.nan)
    varied = np.flatnonzero(spread > _NO_SPREAD)  # all others are what they are in every row
    if len(varied):
        standard = ((values - middle) / np.where(spread > _NO_SPREAD, spread, 1.0))[:, varied]
        few = standard
        if len(standard) > _LEARNT_FROM:
            order = np.random.default_rng(_SEED).permutation(len(standard))
            few = standard[order[:_LEARNT_FROM]]
        shrinkage, width = _chosen(few)
        mean, covariance = _fitted(few, shrinkage, _ROUNDS)
        expected, inverses = _given(standard, mean, covariance)
        explained = np.einsum("ta,mab,bt->mt", covariance, inverses, covariance, optimize=True)
        left = width * np.sqrt((np.diag(covariance) - explained).clip(min=0))
        scale, of = spread[varied], np.ix_(np.arange(len(values)), varied)
        found[of] = np.where(gaps[of], expected * scale + middle[varied], values[of])
        unsure[of] = np.where(gaps[of], left * scale, np.nan)
    return found, unsure


def _means(values: np.ndarray) -> np.ndarray:
    """Of each column; 0 where it has no value at all."""
    return np.nansum(values, axis=0) / (~np.isnan(values)).sum(axis=0).clip(min=1)


def _given(
    standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The rows with their gaps filled, and of each the inverse of C_oo, 0 outside of it."""
    known = ~np.isnan(standard)
    inside = known[:, :, None] & known[:, None, :]
    blocks = np.where(inside, covariance, 0.0)
    at = np.arange(standard.shape[1])
    blocks[:, at, at] += ~known  # 1 where there is nothing, to be invertible
    inverses = np.where(inside, np.linalg.inv(blocks), 0.0)
    off = np.where(known, standard - mean, 0.0)
    expected = mean + np.einsum("ma,mab->mb", off, inverses) @ covariance
    return np.where(known, standard, expected), inverses


def _fitted(standard: np.ndarray, shrinkage: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    mean = _means(standard)
    covariance = (np.eye(standard.shape[1]) + 1) / 2
    for _ in range(rounds):
        filled, inverses = _given(standard, mean, covariance)
        left = len(standard) * covariance - covariance @ inverses.sum(axis=0) @ covariance
        mean, before = filled.mean(axis=0), covariance
        off = filled - mean
        covariance = _shrunk((off.T @ off + left) / len(standard), shrinkage)
        if np.abs(covariance - before).max() < _SETTLED:
            break
    return mean, covariance


def _shrunk(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    spread = np.sqrt(np.diag(covariance).clip(min=1e-6))
    correlations = covariance / np.outer(spread, spread)
    columns = len(spread)
    off = (correlations.sum() - columns) / max(columns * (columns - 1), 1)
    drawn = (1 - shrinkage) * correlations + shrinkage * np.clip(off, 0.0, 0.99)
    np.fill_diagonal(drawn, 1.0 + 1e-6)  # never quite singular, however few the rows
    return drawn * np.outer(spread, spread)


def _chosen(standard: np.ndarray) -> tuple[float, float]:
    """The shrinkage that predicts best, and what its standard deviations are to be multiplied by."""
    order = np.random.default_rng(_SEED).permutation(len(standard))
    folds = [order[at::_FOLDS] for at in range(min(_FOLDS, len(order)))]
    least, best = np.inf, (1.0, 1.0)
    for shrinkage in _SHRINKAGE:
        held = []
        for fold in folds:
            others = np.setdiff1d(order, fold)
            fitted = _fitted(standard[others], shrinkage, _ROUNDS_TO_CHOOSE)
            held.append(_predictions(standard[fold], *fitted))
        off, unsure = np.concatenate(held, axis=1)
        loss = np.mean(np.log(unsure) + (off / unsure) ** 2 / 2)
        if loss < least:
            least, best = loss, (shrinkage, _width(np.abs(off / unsure)))
    return best


def _predictions(standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """How far each known cell is from what the others of its row say, and the standard deviation of that."""
    _, inverses = _given(standard, mean, covariance)
    known = ~np.isnan(standard)
    off = np.where(known, standard - mean, 0.0)
    precision = np.diagonal(inverses, axis1=1, axis2=2)[known]
    return np.stack([np.einsum("mab,mb->ma", inverses, off)[known] / precision, precision**-0.5])


def _width(sizes: np.ndarray) -> float:
    """What 95% of these stay below, over what 95% of normal ones do; of few the largest."""
    wanted = min(int(np.ceil((len(sizes) + 1) * LEVEL)), len(sizes))
    from scipy.stats import norm  # slow to import, and needed here alone

    return float(np.sort(sizes)[wanted - 1] / norm.ppf(TAILS[1]))
