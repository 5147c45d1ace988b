"""What scores on a few random items miss, and what a correction by other models' answers (AIPW) mends.

Of each published task half of the models are known on all items. The others are asked a few, the same for all, drawn at
random. Their answers to the rest are predicted from the known models', and the mean prediction is corrected by what it
missed on the asked items, so that it is right on average however bad the predictions are.
"""

import numpy as np
from scipy.stats import kendalltau

from bench.calibration_items import TASKS, answers

SIZES = (50, 100, 200)
_DRAWS, _COMPONENTS, _RIDGE = 20, 8, 0.5
_LINE = "{:<14} {:>5} {:>8} {:>10} {:>8} {:>10} {:>8} {:>10}"
_HEAD = ("task", "items", "score", "corrected", "pair", "corrected", "tau", "corrected")


def corrected(known: np.ndarray, asked: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Scores of models with the answers `right` to the items `asked`, corrected by those of `known` models to all."""
    centred = known - known.mean(axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(centred.T, full_matrices=False)
    kept = min(_COMPONENTS, len(values))
    ability = np.ones((known.shape[1], 1))
    features = np.hstack([ability, left[:, :kept] * values[:kept]])
    penalty = np.diag([0.0] + [_RIDGE * len(asked)] * kept)
    seen = features[asked]
    weights = np.linalg.solve(seen.T @ seen + penalty, seen.T @ right.T)
    predicted = (features @ weights).T
    return predicted.mean(axis=1) + (right - predicted[:, asked]).mean(axis=1)


def missed(whole: np.ndarray, size: int, draws: int, seed: int = 0) -> list[float]:
    """Root mean squares of what scores and differences of two models are off, and tau with the scores on all items;
    of random items, and corrected, in turn."""
    found = []
    for draw in range(draws):
        generator = np.random.default_rng([seed, size, draw])
        order = generator.permutation(len(whole))
        known, new = np.split(whole[order], [len(whole) // 2])
        asked = generator.choice(whole.shape[1], size, replace=False)
        truth, right = new.mean(axis=1), new[:, asked]
        both = [right.mean(axis=1), corrected(known, asked, right)]
        off = [one - truth for one in both]
        found.append(
            [
                *((one**2).mean() for one in off),
                *((np.diff(one) ** 2).mean() for one in off),
                *(kendalltau(one, truth).statistic for one in both),
            ]
        )
    means = np.mean(found, axis=0)
    return [*np.sqrt(means[:4]), *means[4:]]


def main() -> None:
    print(_LINE.format(*_HEAD))
    for name, task in TASKS.items():
        whole = answers(name)
        for size in (size for size in SIZES if 2 * size <= whole.shape[1]):
            cells = missed(whole, size, _DRAWS)
            off = [f"{100 * one:.2f}" for one in cells[:4]]
            print(_LINE.format(task, size, *off, *(f"{one:.3f}" for one in cells[4:])))


if __name__ == "__main__":
    main()
