"""What a score is worth nothing below: the best fixed answer, and answering at random.

Both are computed with the task's own scoring and aggregation, so that they are on the scale of the
metric they stand beside, whatever that metric does to an answer before it compares.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

CANDIDATES = 20  # fixed answers tried: the most frequent right ones
RANDOM_DRAWS = 200  # for metrics that are not a mean over items
_CERTAIN, _IMPOSSIBLE = (0.0, True), (-1e9, False)


@dataclass(frozen=True)
class Floor:
    best_constant: float | None
    chance: float | None


def floors(task, docs: list[dict], seed: int) -> dict[tuple[str, str], Floor]:
    """The floors of each (metric, filter) of a task on these documents; none for perplexities."""
    if task.OUTPUT_TYPE == "multiple_choice":
        return _multiple_choice(task, docs, seed)
    if task.OUTPUT_TYPE == "generate_until":
        return _generation(task, docs)
    return {}


def _multiple_choice(task, docs: list[dict], seed: int) -> dict[tuple[str, str], Floor]:
    # scores[i][j]: what item i scores, metric by metric, when choice j is chosen.
    choices = [task.doc_to_choice(doc) for doc in docs]
    scores = [
        [task.process_results(doc, _choose(j, len(texts))) for j in range(len(texts))]
        for doc, texts in zip(docs, choices, strict=True)
    ]
    right = Counter(texts[gold_index(task, doc)] for doc, texts in zip(docs, choices, strict=True))
    constants = [text for text, _ in right.most_common(CANDIDATES)]
    rng = np.random.default_rng(seed)
    found = {}
    for metric in scores[0][0]:
        aggregate = task.aggregation()[metric]
        if _is_mean(aggregate):
            by_constant = (
                # An item that does not offer the fixed answer counts as wrong.
                np.mean([row[texts.index(text)][metric] if text in texts else 0.0
                         for row, texts in zip(scores, choices, strict=True)])
                for text in constants
            )  # fmt: skip
            chance = np.mean([np.mean([one[metric] for one in row]) for row in scores])
        else:
            usable = [text for text in constants if all(text in texts for texts in choices)]
            by_constant = (
                aggregate([row[texts.index(text)][metric]
                           for row, texts in zip(scores, choices, strict=True)])
                for text in usable
            )  # fmt: skip
            chance = np.mean(
                [
                    aggregate([row[rng.integers(len(row))][metric] for row in scores])
                    for _ in range(RANDOM_DRAWS)
                ]
            )
        found[metric, "none"] = Floor(_best(by_constant), float(chance))
    return found


def _generation(task, docs: list[dict]) -> dict[tuple[str, str], Floor]:
    found = {}
    for ensemble in task._filters:
        answers = _filtered(ensemble, [(doc, text) for doc in docs for text in _targets(task, doc)])
        per_metric: dict[str, list[float]] = {}
        for answer, _ in Counter(answers).most_common(CANDIDATES):
            results = [task.process_results(doc, [answer]) for doc in docs]
            for metric in results[0]:
                values = [result[metric] for result in results]
                per_metric.setdefault(metric, []).append(task.aggregation()[metric](values))
        for metric, values in per_metric.items():
            found[metric, ensemble.name] = Floor(_best(values), None)
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


def _best(values: Iterable[float]) -> float | None:
    return max((float(value) for value in values), default=None)
