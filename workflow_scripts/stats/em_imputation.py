"""Impute rows of one normal distribution, with the errors of what is imputed."""

from statistics import NormalDist

import numpy as np

from workflow_scripts.stats.significance import LEVEL, TAILS

# Weights of the mean correlation in each correlation; the best of these is found by cross-validation.
_SHRINKAGES = (0.05, 0.15, 0.3, 0.6, 1.0)
_FOLDS, _SEED = 5, 0
_MAX_ROWS = 1000  # to learn from: more of them move no correlation by more than 0.03
_MAX_ROUNDS, _MAX_ROUNDS_TO_CHOOSE = 25, 10  # of EM
_TOLERANCE = 1e-3  # of a correlation, less than which a round changes nothing


def impute_normal(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the values with each gap's expectation, and the standard deviations of the gaps (elsewhere NaN).

    Columns are standardised. Mean m and covariance C of the rows are found by the EM algorithm for a normal
    distribution with gaps. C is R with its correlations drawn towards their mean, since a few dozen rows do
    not tell hundreds of correlations: how far is what predicts best the cells of rows that were not fitted.
    Given the known part o of a row, a gap g is expected at m_g + C_go C_oo^-1 (x_o - m_o), with variance
    C_gg - C_go C_oo^-1 C_og. Scores are not quite normal; so the standard deviations are multiplied by what
    makes 95% of those predictions hold within 1.96 of them. Of more than a thousand rows, m, C and the two
    choices are learnt from a random thousand.
    """
    gaps, center, spread = np.isnan(values), np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varying = spread > 1e-12  # a constant column is imputed with certainty
    scale = np.where(varying, spread, 1.0)
    standard = ((values - center) / scale)[:, varying]
    expected, stderr = np.zeros((2, *values.shape))
    if standard.size:
        sample = standard
        if len(standard) > _MAX_ROWS:
            order = np.random.default_rng(_SEED).permutation(len(standard))
            sample = standard[order[:_MAX_ROWS]]
        shrinkage, width = _choose(sample)
        mean, covariance = _fit(sample, shrinkage, _MAX_ROUNDS)
        expected[:, varying], inverses = _fill(standard, mean, covariance)
        explained = np.einsum("ta,mab,bt->mt", covariance, inverses, covariance, optimize=True)
        stderr[:, varying] = width * np.sqrt((np.diag(covariance) - explained).clip(min=0))
    return (
        np.where(gaps, expected * scale + center, values),
        np.where(gaps, stderr * scale, np.nan),
    )


def _fill(
    standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fill the gaps of the rows; with it returns the inverse of each row's C_oo, 0 outside of it."""
    observed = ~np.isnan(standard)
    inside = observed[:, :, None] & observed[:, None, :]
    # 1 on the diagonal of the gaps, to be invertible
    blocks = np.where(inside, covariance, ~observed[:, None] * np.eye(standard.shape[1]))
    inverses = np.where(inside, np.linalg.inv(blocks), 0.0)
    centred = np.where(observed, standard - mean, 0.0)
    expected = mean + np.einsum("ma,mab->mb", centred, inverses) @ covariance
    return np.where(observed, standard, expected), inverses


def _fit(standard: np.ndarray, shrinkage: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    mean = np.nansum(standard, axis=0) / (~np.isnan(standard)).sum(axis=0).clip(min=1)
    covariance = (np.eye(standard.shape[1]) + 1) / 2
    for _ in range(rounds):
        filled, inverses = _fill(standard, mean, covariance)
        residual = len(standard) * covariance - covariance @ inverses.sum(axis=0) @ covariance
        mean, previous = filled.mean(axis=0), covariance
        centred = filled - mean
        covariance = _shrink((centred.T @ centred + residual) / len(standard), shrinkage)
        if np.abs(covariance - previous).max() < _TOLERANCE:
            break
    return mean, covariance


def _shrink(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    spread = np.sqrt(np.diag(covariance).clip(min=1e-6))
    scale, columns = np.outer(spread, spread), len(spread)
    correlations = covariance / scale
    mean = (correlations.sum() - columns) / max(columns * (columns - 1), 1)
    shrunk = (1 - shrinkage) * correlations + shrinkage * np.clip(mean, 0.0, 0.99)
    np.fill_diagonal(shrunk, 1.0 + 1e-6)  # never quite singular, however few the rows
    return shrunk * scale


def _choose(standard: np.ndarray) -> tuple[float, float]:
    """Choose the shrinkage that predicts best, and the factor of its standard deviations.

    That is what 95% of the errors in standard deviations stay below, over what 95% of normal ones do; of few the
    largest.
    """
    order = np.random.default_rng(_SEED).permutation(len(standard))
    folds = [order[fold::_FOLDS] for fold in range(min(_FOLDS, len(order)))]
    candidates = []
    for shrinkage in _SHRINKAGES:
        predicted = []
        for fold in folds:
            fit = _fit(standard[np.setdiff1d(order, fold)], shrinkage, _MAX_ROUNDS_TO_CHOOSE)
            predicted.append(_predict_known(standard[fold], *fit))
        errors, spread = np.concatenate(predicted, axis=1)
        ratios = errors / spread
        loss = float(np.mean(np.log(spread) + ratios**2 / 2))
        candidates.append((loss, shrinkage, np.sort(np.abs(ratios))))
    _, shrinkage, sizes = min(candidates, key=lambda candidate: candidate[0])
    place = min(int(np.ceil((len(sizes) + 1) * LEVEL)), len(sizes))
    return shrinkage, float(sizes[place - 1] / NormalDist().inv_cdf(TAILS[1]))


def _predict_known(standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Compute each known cell's error when it is predicted by the others of its row, and its standard deviation."""
    _, inverses = _fill(standard, mean, covariance)
    observed = ~np.isnan(standard)
    centred = np.where(observed, standard - mean, 0.0)
    precision = np.diagonal(inverses, axis1=1, axis2=2)[observed]
    errors = np.einsum("mab,mb->ma", inverses, centred)[observed] / precision
    return np.stack([errors, precision**-0.5])
