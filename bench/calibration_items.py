"""Two models on one task: how often 95% intervals of their difference hold, and equal models are told apart.

Items are drawn with replacement from the real answers of many models, so that the truth is known: the
difference on all items. Models are made equal by swapping the answers of two, item by item, at random.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bench.held import FALSE, Held
from workflow_scripts.scores.influences import hidden_variance, least_variance, matthews
from workflow_scripts.stats.item_errors import ItemErrors, measured_errors
from workflow_scripts.stats.partial_order import SIGNIFICANT
from workflow_scripts.stats.score_errors import ScoreErrors

ITEMS = Path(__file__).parents[1] / "resources/published/items"
TASKS = {
    "arc_challenge": "ARC-Challenge", "musr": "MuSR", "ifeval": "IFEval", "gsm": "GSM8K", "openllm_math": "MATH",
    "med_qa": "MedQA", "rte": "RTE", "mrpc": "MRPC", "sst2": "SST-2",
}  # fmt: skip
SIZES = (100, 300, 1000)
_NUMBERS = ", ".join(map(str, SIZES))
ALIKE = 0.05  # how far the scores of two models lie apart at most that are made equal
COLA = (100, 300, 1043)
_PAIRS = 20  # of a draw

Drawn = tuple[np.ndarray, ItemErrors]


def rows(draws: int, seed: int = 0) -> list[Held]:
    found = []
    for name, task in TASKS.items():
        held, differing = [], []
        for n in SIZES:
            generator = np.random.default_rng([seed, n])
            of_draws = [differences(answers(name), n, generator) for _ in range(draws)]
            held.append([one for one, _ in of_draws])
            differing.append([other for _, other in of_draws])
        case = f"{task}, {_NUMBERS} items"
        found.append(Held.of("difference of two models", case, held))
        found.append(Held.of("equal models differ", case, differing, FALSE))
    return found + clusters(draws, seed) + correlations(draws, seed)


@cache
def answers(name: str) -> np.ndarray:
    """Models in rows, items in columns: 1 for a right answer."""
    return np.stack(pd.read_parquet(ITEMS / f"{name}.parquet")["right"].to_list()).astype(float)


def scored(right: np.ndarray, clusters: np.ndarray | None = None) -> Drawn:
    """Scores and their errors, as a run's records give them; items of a cluster go together."""
    scores, n = right.mean(axis=1), right.shape[1]
    added = (right - scores[:, None]) / n
    least = [least_variance(one, n) for one in scores]
    hidden = np.array(list(map(hidden_variance, added, least)))
    if clusters is not None:
        added = np.stack([np.bincount(clusters, row) for row in added])
    return scores, measured_errors(added, hidden)


def apart(drawn: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """Differences of the first half of the models from the second, and their errors."""
    scores, errors = drawn
    pairs = np.arange(len(scores) // 2)
    table = pd.DataFrame({"task": scores})
    of = ScoreErrors(table, {"task": errors}, table * 0.0)
    return _halves(scores), of.of_differences(pairs, pairs + len(pairs))[:, 0]


def beyond(off: np.ndarray, errors: np.ndarray) -> float:
    return float((np.abs(off) > SIGNIFICANT * errors).mean())


def _halves(values: np.ndarray) -> np.ndarray:
    first, second = np.split(values, 2)
    return first - second


def _independent(drawn: Drawn) -> np.ndarray:
    first, second = np.split(drawn[1].variances, 2)
    return np.sqrt(first + second)


def differences(right: np.ndarray, n: int, generator: np.random.Generator):
    """Of one draw: shares that hold and that differ, each with the error model and with independent errors."""
    items = generator.integers(0, right.shape[1], n)
    scores = right.mean(axis=1)
    chosen = generator.choice(len(right), 2 * min(_PAIRS, len(right) // 2), replace=False)
    drawn = scored(right[np.ix_(chosen, items)])
    found, errors = apart(drawn)
    off = found - _halves(scores[chosen])
    held = 1 - beyond(off, errors), 1 - beyond(off, _independent(drawn))
    first = chosen[: len(chosen) // 2]
    near = np.abs(scores[first][:, None] - scores) <= ALIKE
    near[np.arange(len(first)), first] = False
    first, near = first[near.any(axis=1)], near[near.any(axis=1)]
    second = np.array([generator.choice(np.flatnonzero(row)) for row in near])
    one, other = right[np.ix_(first, items)], right[np.ix_(second, items)]
    swapped = generator.random(one.shape) < 0.5
    equal = scored(np.vstack([np.where(swapped, other, one), np.where(swapped, one, other)]))
    found, errors = apart(equal)
    return held, (beyond(found, errors), beyond(found, _independent(equal)))


def clusters(draws: int, seed: int) -> list[Held]:
    """Twins, passages and subjects: their questions are easy or hard for a model together."""
    kinds = {
        "300 pairs of twins": (2, 300),
        "100 passages of 5": (5, 100),
        "57 subjects of 40": (40, 57),
    }
    shares: list[list] = [[] for _ in kinds]
    for at, (size, count) in enumerate(kinds.values()):
        generator = np.random.default_rng([seed, size])
        of = np.repeat(np.arange(count), size)
        for _ in range(draws):
            # Of a cluster or of a question; for all models, or for each by itself.
            hard = [generator.standard_normal((rows, count))[:, of] for rows in (1, 2 * _PAIRS)]
            hard += [generator.standard_normal((rows, len(of))) for rows in (1, 2 * _PAIRS)]
            right = np.asarray(sum(hard) > 0, dtype=float)
            shares[at].append([beyond(*apart(scored(right, within))) for within in (of, None)])
    return [Held.of("equal models differ, clusters", ", ".join(kinds), shares, FALSE)]


def correlations(draws: int, seed: int) -> list[Held]:
    """Matthews' coefficient on sentences as CoLA's, of which 70% are acceptable; models in equal pairs."""
    generator = np.random.default_rng(seed)
    able = np.tile(generator.uniform(0.0, 2.0, _PAIRS), 2)
    lean = np.tile(generator.uniform(0.0, 1.0, _PAIRS), 2)

    def coefficients(n: int) -> tuple[np.ndarray, ItemErrors]:
        gold = generator.random(n) < 0.7
        own, hard = generator.standard_normal((len(able), n)), generator.standard_normal(n)
        said = able[:, None] * (gold - 0.5) + lean[:, None] + 0.7 * hard + own > 0
        asked = pd.Series(gold.astype(int))
        each = [matthews(asked, pd.Series(one.astype(int))) for one in said]
        values, added, least = map(np.array, zip(*each, strict=True))
        return values, measured_errors(added, np.array(list(map(hidden_variance, added, least))))

    truth = coefficients(200_000)[0]
    single: list[list] = [[] for _ in COLA]
    differing: list[list] = [[] for _ in COLA]
    for at, n in enumerate(COLA):
        for _ in range(draws):
            drawn = values, errors = coefficients(n)
            printed = np.sqrt((1 - values**2) / n)
            off = values - truth
            known = beyond(off, np.sqrt(errors.variances))
            single[at].append((1 - known, 1 - beyond(off, printed)))
            differing[at].append(
                (beyond(*apart(drawn)), beyond(_halves(values), _independent(drawn)))
            )
    case = f"as CoLA, {', '.join(map(str, COLA))} items"
    return [
        Held.of("Matthews' coefficient", case, single),
        Held.of("equal models differ by it", case, differing, FALSE),
    ]
