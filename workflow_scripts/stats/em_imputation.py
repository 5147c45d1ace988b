"""Impute missing values of rows from one multivariate normal distribution, with their standard errors."""

import numpy as np

from workflow_scripts.stats.significance import LEVEL, NORMAL

# Candidate weights of the mean correlation in each correlation; cross-validation chooses one.
_SHRINKAGES = (0.05, 0.15, 0.3, 0.6, 1.0)
_FOLDS, _SEED = 5, 0
_MAX_ROWS = 1000  # rows to fit; more rows change no correlation by more than 0.03
_MAX_ROUNDS, _MAX_ROUNDS_TO_CHOOSE = 25, 10  # EM iterations
_TOLERANCE = 1e-3  # change of a correlation below which EM has converged


def impute_normal(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fill each gap with its conditional expectation; return the values and the gaps' standard deviations (else NaN).

    Columns are standardised. Mean m and covariance C of the rows are estimated by the EM algorithm for a normal
    distribution with missing values. The correlations in C are shrunk towards their mean, since a few dozen rows
    do not determine hundreds of correlations; cross-validation over rows chooses the shrinkage. Given the observed
    part o of a row, a gap g has the expectation m_g + C_go C_oo^-1 (x_o - m_o) and the variance
    C_gg - C_go C_oo^-1 C_og. As scores are not exactly normal, the standard deviations are scaled so that 95% of the
    cross-validated predictions lie within 1.96 of them. With more than a thousand rows, m, C, the shrinkage and the
    scale are estimated on a random thousand.
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
        shrinkage, width = _choose(sample)
        mean, covariance = _fit(sample, shrinkage, _MAX_ROUNDS)
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


def _fit(standard: np.ndarray, shrinkage: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    mean = np.nansum(standard, axis=0) / (~np.isnan(standard)).sum(axis=0).clip(min=1)
    covariance = (np.eye(standard.shape[1]) + 1) / 2
    for _ in range(rounds):
        filled, _, inverses = _condition(standard, mean, covariance)
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
    np.fill_diagonal(shrunk, 1.0 + 1e-6)  # invertible even with few rows
    return shrunk * scale


def _choose(standard: np.ndarray) -> tuple[float, float]:
    """Choose the shrinkage that predicts best in cross-validation, and the scale of its standard deviations.

    The scale is the 95% quantile of |error| / standard deviation over that of a normal distribution; with few errors,
    the largest replaces the quantile.
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
        place = min(int(np.ceil((len(ratios) + 1) * LEVEL)), len(ratios))
        candidates.append((loss, shrinkage, float(np.sort(np.abs(ratios))[place - 1] / NORMAL)))
    return min(candidates)[1:]


def _predict_known(standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Compute the error and its standard deviation of each known cell, predicted from the others of its row."""
    _, weights, inverses = _condition(standard, mean, covariance)
    observed = ~np.isnan(standard)
    precision = np.diagonal(inverses, axis1=1, axis2=2)[observed]
    return np.stack([weights[observed] / precision, precision**-0.5])
