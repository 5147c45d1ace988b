"""Rankings by several tasks: intervals of their agreement, over items and over families, and ranges of ranks."""

import numpy as np
import pandas as pd

from bench.calibration_items import answers, scored
from bench.held import Held
from workflow_scripts.stats.agreement import mean_agreement
from workflow_scripts.stats.intervals import difference_drawn, interval_drawn
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.principal import first_components
from workflow_scripts.stats.ranks import rank_ranges, ranks
from workflow_scripts.stats.score_errors import ScoreErrors

MODELS, ITEMS, DRAWS = 40, 300, 200
_WORLDS = 3
TASKS = ("arc_challenge", "musr", "ifeval", "gsm", "med_qa", "sst2")
# How far a model's places on two tasks lie apart, as a share of its spread: without training and after it.
DISORDER = (1.5, 0.5)
PUBLISHED_SIZES = (26, 8, 8, 8, 7, 4)
FAMILIES = {
    "6 families as published": PUBLISHED_SIZES,
    "4 families": (26, 8, 8, 8),
    "12 families": PUBLISHED_SIZES * 2,
}
SHARES = (0.0, 0.2, 0.4, 0.6)  # of the variance, that is of the family
_SHARES = f"shares {', '.join(map(str, SHARES))}"


def rows(measured: int, seed: int = 0) -> list[Held]:
    return [*over_items(measured, seed), *_over_families(2 * measured, seed)]


class World:
    """Models with real answers on each task: whose answers are one model's is made up, by their places.

    Two protocols put the same items; drawn again with replacement, they give scores whose truth is known.
    """

    def __init__(self, seed: int):
        generator = np.random.default_rng(seed)
        able = generator.standard_normal(MODELS)
        self.right: list[dict[str, np.ndarray]] = [{}, {}]
        for task in TASKS:
            right = answers(task)
            rising = right[np.argsort(right.mean(axis=1), kind="stable")]
            for disorder, of_protocol in zip(DISORDER, self.right, strict=True):
                place = np.argsort(np.argsort(able + disorder * generator.standard_normal(MODELS)))
                # Of all models that answered as many as there are here, evenly by their scores.
                at = np.linspace(0, len(rising) - 1, MODELS).astype(int)
                of_protocol[task] = rising[at[place]]

    def truth(self, protocol: int) -> pd.DataFrame:
        return pd.DataFrame(
            {task: right.mean(axis=1) for task, right in self.right[protocol].items()}
        )

    def measured(self, generator: np.random.Generator) -> list[ScoreErrors]:
        """Both protocols on the same drawn items."""
        drawn = [list(self._task(task, generator)) for task in TASKS]
        found = []
        for stream in (0, 1):
            parts = {task: both[stream] for task, both in zip(TASKS, drawn, strict=True)}
            scores = pd.DataFrame({task: part[0] for task, part in parts.items()})
            errors = {task: part[1] for task, part in parts.items()}
            found.append(ScoreErrors(scores, errors, scores * 0.0, stream))
        return found

    def _task(self, task: str, generator: np.random.Generator):
        both = np.vstack([right[task] for right in self.right])
        scores, errors = scored(both[:, generator.integers(0, both.shape[1], ITEMS)])
        for at in (0, 1):
            of = np.arange(MODELS) + at * MODELS
            yield scores[of], errors.part(of)


def over_items(measured: int, seed: int) -> list[Held]:
    found = []
    for world in range(_WORLDS):
        found.append(_in_world(World(seed + world), measured // _WORLDS, [seed, world]))
    case = f"{len(TASKS)} tasks of {ITEMS} items, {MODELS} models"
    kinds = (
        "mean agreement over items",
        "its rise from one protocol to another",
        "rank ranges, each model",
        "rank ranges, all models at once",
    )
    shares = np.mean(found, axis=0)
    return [Held(kind, case, (float(one),)) for kind, one in zip(kinds, shares, strict=True)]


def _in_world(world: World, measured: int, seed: list[int]) -> tuple[float, float, float, float]:
    generator = np.random.default_rng(seed)
    agreement, rise, alone, together, values = [], [], [], [], []
    places = ranks(pd.Series(first_components(world.truth(1).to_numpy()[None])[0]))
    for at in range(measured):
        first, second = world.measured(generator)
        values.append([mean_agreement(one.scores) for one in (first, second)])
        agreement.append(interval_drawn(second, DRAWS, at))
        rise.append(difference_drawn(first, second, DRAWS, at))
        ranges = rank_ranges(second, DRAWS, at)
        alone.append(((ranges["low"] <= places) & (places <= ranges["high"])).mean())
        together.append(((ranges["joint_low"] <= places) & (places <= ranges["joint_high"])).all())
    # What is measured with other items of this number, in the mean.
    direct, trained = np.mean(values, axis=0)
    ends = held(agreement, trained), held(rise, trained - direct)
    return *ends, float(np.mean(alone)), float(np.mean(together))


def held(intervals: list, truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def _over_families(measured: int, seed: int) -> list[Held]:
    found = []
    for case, sizes in FAMILIES.items():
        families = np.repeat(np.arange(len(sizes)), sizes)
        one_by_one = pd.Series(np.arange(len(families)))
        shares, without = [], []
        for share in SHARES:
            generator = np.random.default_rng([seed, len(sizes), round(10 * share)])
            intervals, alone, values = [], [], []
            for at in range(measured):
                scores = _alike(families, share, generator)

                def agreement(kept: np.ndarray, scores=scores) -> np.ndarray:
                    return np.array(mean_agreement(scores[kept]))

                values.append(mean_agreement(scores))
                reach = over_families(agreement, pd.Series(families))
                intervals.append((reach.low, reach.high))
                if at % 15 == 0:  # slower: as many times as there are models
                    reach = over_families(agreement, one_by_one)
                    alone.append((reach.low, reach.high))
            truth = float(np.mean(values))
            shares.append(held(intervals, truth))
            without.append(held(alone, truth))
        found.append(
            Held(
                "mean agreement over families",
                f"{case}, {_SHARES}",
                tuple(shares),
                otherwise=tuple(without),
            )
        )
    return found


def _alike(families: np.ndarray, share: float, generator: np.random.Generator) -> pd.DataFrame:
    """Scores on five tasks; models are as alike as their family is, by a share of the variance."""

    def drawn(tasks: int) -> np.ndarray:
        of_family = generator.standard_normal((families.max() + 1, tasks))[families]
        own = generator.standard_normal((len(families), tasks))
        return share**0.5 * of_family + (1 - share) ** 0.5 * own

    return pd.DataFrame(drawn(1) + drawn(5))
