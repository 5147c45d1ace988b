"""Rows drawn from one normal distribution, with gaps: what is in the gaps, and how sure that is."""

from statistics import NormalDist

import numpy as np

from workflow_scripts.stats.checks import LEVEL, TAILS

# How far correlations are drawn towards their mean; the best of these is found by cross-validation.
SHRINKAGES = (0.05, 0.15, 0.3, 0.6, 1.0)
FOLDS, SEED = 5, 0
LEARNT_FROM = 1000  # rows at most: more of them move no correlation by more than 0.03
ROUNDS, ROUNDS_TO_CHOOSE = 25, 10  # of EM at most
SETTLED = 1e-3  # of a correlation, less than which a round changes nothing
NO_SPREAD = 1e-12


def estimated(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate each cell's expectation, which is itself where it is there, and the standard deviation of the gaps.

    Columns are standardised. Mean m and covariance C of the rows are found by the EM algorithm for a normal
    distribution with gaps. C is R with its correlations drawn towards their mean, since a few dozen rows do
    not tell hundreds of correlations: how far is what predicts best the cells of rows that were not fitted.
    Given the known part o of a row, a gap g is expected at m_g + C_go C_oo^-1 (x_o - m_o), with variance
    C_gg - C_go C_oo^-1 C_og. Scores are not quite normal; so the standard deviations are multiplied by what
    makes 95% of those predictions hold within 1.96 of them. Of more than a thousand rows, m, C and the two
    choices are learnt from a thousand, drawn at random.
    """
    gaps, middle = np.isnan(values), np.nanmean(values, axis=0)
    spread = np.sqrt(np.nanmean((values - middle) ** 2, axis=0))
    flat = spread <= NO_SPREAD  # what is the same in every row is that, for sure
    scale = np.where(flat, 1.0, spread)
    standard = ((values - middle) / scale)[:, ~flat]
    expected, left = np.zeros(values.shape), np.zeros(values.shape)
    if standard.size:
        order = np.random.default_rng(SEED).permutation(len(standard))
        few = standard if len(standard) <= LEARNT_FROM else standard[order[:LEARNT_FROM]]
        shrinkage, width = _choose(few)
        mean, covariance = _fit(few, shrinkage, ROUNDS)
        expected[:, ~flat], inverses = _fill(standard, mean, covariance)
        explained = np.einsum("ta,mab,bt->mt", covariance, inverses, covariance, optimize=True)
        left[:, ~flat] = width * np.sqrt((np.diag(covariance) - explained).clip(min=0))
    return (
        np.where(gaps, expected * scale + middle, values),
        np.where(gaps, left * scale, np.nan),
    )


def _fill(
    standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fill the gaps of the rows; returned with it is of each row the inverse of C_oo, 0 outside of it."""
    known = ~np.isnan(standard)
    inside = known[:, :, None] & known[:, None, :]
    # 1 on the diagonal where there is nothing, to be invertible
    blocks = np.where(inside, covariance, ~known[:, None] * np.eye(standard.shape[1]))
    inverses = np.where(inside, np.linalg.inv(blocks), 0.0)
    off = np.where(known, standard - mean, 0.0)
    expected = mean + np.einsum("ma,mab->mb", off, inverses) @ covariance
    return np.where(known, standard, expected), inverses


def _fit(standard: np.ndarray, shrinkage: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    known = ~np.isnan(standard)
    mean = np.nansum(standard, axis=0) / known.sum(axis=0).clip(min=1)
    covariance = (np.eye(standard.shape[1]) + 1) / 2
    for _ in range(rounds):
        filled, inverses = _fill(standard, mean, covariance)
        left = len(standard) * covariance - covariance @ inverses.sum(axis=0) @ covariance
        mean, before = filled.mean(axis=0), covariance
        off = filled - mean
        covariance = _shrink((off.T @ off + left) / len(standard), shrinkage)
        if np.abs(covariance - before).max() < SETTLED:
            break
    return mean, covariance


def _shrink(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    spread = np.sqrt(np.diag(covariance).clip(min=1e-6))
    correlations = covariance / np.outer(spread, spread)
    columns = len(spread)
    mean = (correlations.sum() - columns) / max(columns * (columns - 1), 1)
    drawn = (1 - shrinkage) * correlations + shrinkage * np.clip(mean, 0.0, 0.99)
    np.fill_diagonal(drawn, 1.0 + 1e-6)  # never quite singular, however few the rows
    return drawn * np.outer(spread, spread)


def _choose(standard: np.ndarray) -> tuple[float, float]:
    """Choose the shrinkage that predicts best, and what its standard deviations are to be multiplied by.

    That is what 95% of the errors in standard deviations stay below, over what 95% of normal ones do; of few the
    largest.
    """
    order = np.random.default_rng(SEED).permutation(len(standard))
    tried: dict[float, tuple[float, np.ndarray]] = {}
    for shrinkage in SHRINKAGES:
        predicted = []
        for fold in (order[at::FOLDS] for at in range(min(FOLDS, len(order)))):
            others = np.setdiff1d(order, fold)
            fitted = _fit(standard[others], shrinkage, ROUNDS_TO_CHOOSE)
            predicted.append(_predict_known(standard[fold], *fitted))
        off, unsure = np.concatenate(predicted, axis=1)
        loss = float(np.mean(np.log(unsure) + (off / unsure) ** 2 / 2))
        tried.setdefault(loss, (shrinkage, np.abs(off / unsure)))
    shrinkage, sizes = tried[min(tried)]
    place = min(int(np.ceil((len(sizes) + 1) * LEVEL)), len(sizes))
    return shrinkage, float(np.sort(sizes)[place - 1] / NormalDist().inv_cdf(TAILS[1]))


def _predict_known(standard: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Compute how far each known cell is from what the others of its row say, and the standard deviation of that."""
    _, inverses = _fill(standard, mean, covariance)
    known = ~np.isnan(standard)
    off = np.where(known, standard - mean, 0.0)
    precision = np.diagonal(inverses, axis1=1, axis2=2)[known]
    return np.stack([np.einsum("mab,mb->ma", inverses, off)[known] / precision, precision**-0.5])
