"""Impute missing values of rows from one multivariate normal distribution, with their standard errors."""

import numpy as np

from workflow_scripts.stats.significance import CONFIDENCE, NORMAL

_SHRINKAGE = 0.3  # weight of the mean correlation in each correlation
_FOLDS, _SEED = 5, 0
_MAX_ROWS = 1000  # rows to fit; more rows change no correlation by more than 0.03
_MAX_ROUNDS = 25  # EM iterations
_TOLERANCE = 1e-3  # change of a correlation below which EM has converged


def impute_normal(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fill each gap with its conditional expectation; return the values and the gaps' standard deviations (else NaN).

    Columns are standardised. Mean m and covariance C of the rows are estimated by the EM algorithm for a normal
    distribution with missing values. The correlations in C are shrunk towards their mean, since a few dozen rows
    do not determine hundreds of correlations. Given the observed part o of a row, a gap g has the expectation
    m_g + C_go C_oo^-1 (x_o - m_o) and the variance C_gg - C_go C_oo^-1 C_og. As scores are not exactly normal, the
    standard deviations are scaled so that 95% of the cross-validated predictions lie within 1.96 of them. With more
    than a thousand rows, m, C and the scale are estimated on a random thousand.

    On the published scores scikit-learn's IterativeImputer predicts as well, but its 95% intervals hold 90%.
    """
    gaps, center, spread = np.isnan(values), np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varying = spread > 1e-12  # a constant column is imputed without error
    scale = np.where(varying, spread, 1.0)
    standard = ((values - center) / scale)[:, varying]
    expected, stderr = np.zeros((2, *values.shape))
    if standard.size:
        sample = standard
        if len(standard) > _MAX_ROWS:
            sample = np.random.default_rng(_SEED).permutation(standard)[:_MAX_ROWS]
        width = _compute_scale(sample)
        mean, covariance = _fit(sample)
        expected[:, varying], _, inverses = _condition(standard, mean, covariance)
        explained = np.einsum("ta,mab,bt->mt", covariance, inverses, covariance, optimize=True)
        stderr[:, varying] = width * np.sqrt((np.diag(covariance) - explained).clip(min=0))
    return (
        np.where(gaps, expected * scale + center, values),
        np.where(gaps, stderr * scale, np.nan),
    )


def _condition(
    standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fill the gaps of the rows; also return C_oo^-1 (x_o - m_o) and C_oo^-1 of each row, with zeros for the gaps."""
    observed = ~np.isnan(standard)
    inside = observed[:, :, None] & observed[:, None, :]
    # Ones on the diagonal of the gaps make the blocks invertible.
    blocks = np.where(inside, covariance, ~observed[:, None] * np.eye(standard.shape[1]))
    inverses = np.where(inside, np.linalg.inv(blocks), 0.0)
    centred = np.where(observed, standard - mean, 0.0)
    weights = np.einsum("ma,mab->mb", centred, inverses)
    return np.where(observed, standard, mean + weights @ covariance), weights, inverses


def _fit(standard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = np.nansum(standard, axis=0) / (~np.isnan(standard)).sum(axis=0).clip(min=1)
    covariance = (np.eye(standard.shape[1]) + 1) / 2
    for _ in range(_MAX_ROUNDS):
        filled, _, inverses = _condition(standard, mean, covariance)
        residual = len(standard) * covariance - covariance @ inverses.sum(axis=0) @ covariance
        mean, previous = filled.mean(axis=0), covariance
        centred = filled - mean
        covariance = _shrink((centred.T @ centred + residual) / len(standard))
        if np.abs(covariance - previous).max() < _TOLERANCE:
            break
    return mean, covariance


def _shrink(covariance: np.ndarray) -> np.ndarray:
    spread = np.sqrt(np.diag(covariance).clip(min=1e-6))
    scale, columns = np.outer(spread, spread), len(spread)
    correlations = covariance / scale
    mean = (correlations.sum() - columns) / max(columns * (columns - 1), 1)
    shrunk = (1 - _SHRINKAGE) * correlations + _SHRINKAGE * np.clip(mean, 0.0, 0.99)
    np.fill_diagonal(shrunk, 1.0 + 1e-6)  # invertible even with few rows
    return shrunk * scale


def _compute_scale(standard: np.ndarray) -> float:
    """Compute the 95% quantile of |error| / standard deviation in cross-validation, over that of a normal distribution.

    With few errors, the largest replaces the quantile.
    """
    order = np.random.default_rng(_SEED).permutation(len(standard))
    folds = [order[fold::_FOLDS] for fold in range(min(_FOLDS, len(order)))]
    ratios = [
        _predict_known(standard[fold], *_fit(standard[np.setdiff1d(order, fold)])) for fold in folds
    ]
    sorted_ratios = np.sort(np.concatenate(ratios))
    place = min(int(np.ceil((len(sorted_ratios) + 1) * CONFIDENCE)), len(sorted_ratios))
    return float(sorted_ratios[place - 1] / NORMAL)


def _predict_known(standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Predict each known cell from the others of its row, and compute |error| / standard deviation."""
    _, weights, inverses = _condition(standard, mean, covariance)
    observed = ~np.isnan(standard)
    precision = np.diagonal(inverses, axis1=1, axis2=2)[observed]
    return np.abs(weights[observed]) / np.sqrt(precision)
