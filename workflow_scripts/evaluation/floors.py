"""What a score is worth nothing below: the best fixed answer, and answering at random.

Both are computed with the task's own scoring and aggregation, so that they are on the scale of the
metric they stand beside, whatever that metric does to an answer before it compares.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

CANDIDATES = 20  # fixed answers tried: the most frequent right ones, where choices vary
RANDOM_DRAWS = 200  # for metrics that are not a mean over items
_CERTAIN, _IMPOSSIBLE = (0.0, True), (-1e9, False)


@dataclass(frozen=True)
class Floor:
    """What each fixed answer scores, and what answering at random scores on average."""

    constants: dict[str, float]
    chance: float | None

    @property
    def best_constant(self) -> float | None:
        return max(self.constants.values(), default=None)


def floors(task, docs: list[dict], seed: int) -> dict[tuple[str, str], Floor]:
    """The floors of each (metric, filter) of a task on these documents.

    None for perplexities, and none where lower is better: a floor is what is to be exceeded.
    """
    found = {}
    if task.OUTPUT_TYPE == "multiple_choice":
        found = _multiple_choice(task, docs, seed)
    elif task.OUTPUT_TYPE == "generate_until":
        found = _generation(task, docs)
    better = task.higher_is_better()
    return {key: floor for key, floor in found.items() if better.get(key[0], True)}


def average(members: list[Floor], weights: np.ndarray) -> Floor:
    """The floor of a weighted mean over several tasks: one fixed answer for all of them."""
    shared = set.intersection(*(set(member.constants) for member in members))
    chances = [member.chance for member in members if member.chance is not None]
    return Floor(
        {
            text: float(np.dot(weights, [member.constants[text] for member in members]))
            for text in sorted(shared)
        },
        float(np.dot(weights, chances)) if len(chances) == len(members) else None,
    )


def _multiple_choice(task, docs: list[dict], seed: int) -> dict[tuple[str, str], Floor]:
    # scores[i][j]: what item i scores, metric by metric, when choice j is chosen.
    choices = [task.doc_to_choice(doc) for doc in docs]
    scores = [
        [task.process_results(doc, _choose(j, len(texts))) for j in range(len(texts))]
        for doc, texts in zip(docs, choices, strict=True)
    ]
    candidates = _candidates(task, docs, choices)
    rng = np.random.default_rng(seed)
    draws = [[int(rng.integers(len(row))) for row in scores] for _ in range(RANDOM_DRAWS)]
    found = {}
    for metric in scores[0][0]:
        aggregate = task.aggregation()[metric]

        def of(text: str, metric=metric, aggregate=aggregate) -> float:
            # An item that does not offer the fixed answer scores nothing.
            return float(
                aggregate(
                    [
                        row[texts.index(text)][metric] if text in texts else 0.0
                        for row, texts in zip(scores, choices, strict=True)
                    ]
                )
            )

        if _is_mean(aggregate):
            chance = np.mean([np.mean([one[metric] for one in row]) for row in scores])
            offered = candidates
        else:
            chance = np.mean(
                [
                    aggregate([row[at][metric] for row, at in zip(scores, draw, strict=True)])
                    for draw in draws
                ]
            )
            offered = [text for text in candidates if all(text in texts for texts in choices)]
        found[metric, "none"] = Floor({text: of(text) for text in offered}, float(chance))
    return found


def _candidates(task, docs: list[dict], choices: list[list[str]]) -> list[str]:
    """The choices, where they are the same throughout, else the most frequent right answers."""
    if all(texts == choices[0] for texts in choices):
        return list(dict.fromkeys(choices[0]))
    right = Counter(texts[gold_index(task, doc)] for doc, texts in zip(docs, choices, strict=True))
    return [text for text, _ in right.most_common(CANDIDATES)]


def _generation(task, docs: list[dict]) -> dict[tuple[str, str], Floor]:
    found = {}
    for ensemble in task._filters:
        answers = _filtered(ensemble, [(doc, text) for doc in docs for text in _targets(task, doc)])
        constants: dict[str, dict[str, float]] = {}
        for answer, _ in Counter(answers).most_common(CANDIDATES):
            results = [task.process_results(doc, [answer]) for doc in docs]
            for metric in results[0]:
                values = [result[metric] for result in results]
                constants.setdefault(metric, {})[answer] = float(task.aggregation()[metric](values))
        for metric, by_answer in constants.items():
            found[metric, ensemble.name] = Floor(by_answer, None)
    return found


def gold_index(task, doc: dict) -> int:
    """Which choice is right; the first of several."""
    gold = task.doc_to_text(doc) if task.multiple_input else task.doc_to_target(doc)
    if isinstance(gold, list):
        gold = gold[0]
    return task.doc_to_choice(doc).index(gold) if isinstance(gold, str) else int(gold)


def _choose(chosen: int, choices: int) -> list[tuple[float, bool]]:
    """The log-likelihoods of a model that is certain of one choice."""
    return [_CERTAIN if index == chosen else _IMPOSSIBLE for index in range(choices)]


def _targets(task, doc: dict) -> list[str]:
    target = task.doc_to_target(doc)
    return [str(one) for one in target] if isinstance(target, list) else [str(target)]


def _filtered(ensemble, answers: list[tuple[dict, str]]) -> list[Any]:
    from lm_eval.api.instance import Instance

    instances = [
        Instance("generate_until", doc=doc, arguments=("", {}), idx=0, resps=[text])
        for doc, text in answers
    ]
    ensemble.apply(instances)
    return [instance.filtered_resps[ensemble.name] for instance in instances]


def _is_mean(aggregate: Callable) -> bool:
    return getattr(aggregate, "__name__", "") == "mean"
