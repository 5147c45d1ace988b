"""Compute the baselines of a task: the score of the best fixed answer, and of random answers (chance level).

Both use the task's own scoring and aggregation, so they are on the same scale as the task's metric,
including any normalisation of the answers.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from workflow_scripts.hub.tasks import get_question_and_answers

# Fixed answers to try: the most frequent correct ones, if the choices vary by item.
_NUM_CANDIDATES = 20
_NUM_RANDOM_DRAWS = 200  # for metrics that are not a mean over items


@dataclass(frozen=True)
class Baseline:
    """The score of each fixed answer, and the mean score of random answers."""

    constants: dict[str, float]  # scores by fixed answer
    chance: float | None

    @property
    def best_constant(self) -> float | None:
        return max(self.constants.values(), default=None)


NO_BASELINE = Baseline(constants={}, chance=None)


def compute_baselines(task, docs: list[dict], seed: int) -> dict[tuple[str, str], Baseline]:
    """Compute the baselines of each (metric, filter) of a task on these documents.

    Omit perplexities and metrics for which lower is better: a baseline is a score to exceed.
    """
    result = {}
    if task.OUTPUT_TYPE == "multiple_choice":
        result = _compute_choice_baselines(task, docs, seed)
    elif task.OUTPUT_TYPE == "generate_until":
        result = _compute_generation_baselines(task, docs)
    higher_is_better = task.higher_is_better()
    return {key: baseline for key, baseline in result.items() if higher_is_better.get(key[0], True)}


def average_baselines(baselines: list[Baseline], weights: np.ndarray) -> Baseline:
    """Average the baselines of several tasks; the answers are those that all tasks have."""
    shared_answers = set.intersection(*(set(baseline.constants) for baseline in baselines))
    chances = [baseline.chance for baseline in baselines if baseline.chance is not None]
    return Baseline(
        {
            answer: float(np.dot(weights, [baseline.constants[answer] for baseline in baselines]))
            for answer in sorted(shared_answers)
        },
        float(np.dot(weights, chances)) if len(chances) == len(baselines) else None,
    )


def _compute_choice_baselines(task, docs: list[dict], seed: int) -> dict[tuple[str, str], Baseline]:
    choices = [task.doc_to_choice(doc) for doc in docs]
    # scores[i][j]: the metrics of item i if the model chooses choice j.
    scores = [
        [
            task.process_results(
                doc, [(0.0, True) if i == choice else (-1e9, False) for i in range(len(texts))]
            )
            for choice in range(len(texts))
        ]
        for doc, texts in zip(docs, choices, strict=True)
    ]
    # If all items have the same choices, try these; else try the most frequent correct answers.
    candidates = list(dict.fromkeys(choices[0]))
    if any(texts != choices[0] for texts in choices):
        gold = [texts[get_gold_index(task, doc)] for doc, texts in zip(docs, choices, strict=True)]
        candidates = [text for text, _ in Counter(gold).most_common(_NUM_CANDIDATES)]
    rng = np.random.default_rng(seed)
    draws = [[int(rng.integers(len(row))) for row in scores] for _ in range(_NUM_RANDOM_DRAWS)]
    result = {}
    for metric in scores[0][0]:
        aggregate = task.aggregation()[metric]
        is_mean = getattr(aggregate, "__name__", "") == "mean"
        constants = {}
        for text in candidates:
            # An item without the fixed answer among its choices scores 0, which only a mean can include.
            if is_mean or all(text in texts for texts in choices):
                values = [
                    row[texts.index(text)][metric] if text in texts else 0.0
                    for row, texts in zip(scores, choices, strict=True)
                ]
                constants[text] = float(aggregate(values))
        if is_mean:
            chances = [np.mean([score[metric] for score in row]) for row in scores]
        else:
            chances = [
                aggregate([row[choice][metric] for row, choice in zip(scores, draw, strict=True)])
                for draw in draws
            ]
        result[metric, "none"] = Baseline(constants, float(np.mean(chances)))
    return result


def _compute_generation_baselines(task, docs: list[dict]) -> dict[tuple[str, str], Baseline]:
    from lm_eval.api.instance import Instance

    targets = [
        Instance("generate_until", doc=doc, arguments=("", {}), idx=0, resps=[text])
        for doc in docs
        for text in get_question_and_answers(task, doc)[1]
    ]
    result = {}
    for ensemble in task._filters:
        ensemble.apply(targets)
        answers = Counter(target.filtered_resps[ensemble.name] for target in targets)
        constants: dict[str, dict[str, float]] = defaultdict(dict)
        for answer, _ in answers.most_common(_NUM_CANDIDATES):
            scores = [task.process_results(doc, [answer]) for doc in docs]
            for metric in scores[0]:
                values = [score[metric] for score in scores]
                constants[metric][answer] = float(task.aggregation()[metric](values))
        for metric, by_answer in constants.items():
            result[metric, ensemble.name] = Baseline(by_answer, None)
    return result


def get_gold_index(task, doc: dict) -> int:
    """Return the index of the correct choice, or of the first if several are correct."""
    gold = task.doc_to_text(doc) if task.multiple_input else task.doc_to_target(doc)
    if isinstance(gold, list):
        gold = gold[0]
    return task.doc_to_choice(doc).index(gold) if isinstance(gold, str) else int(gold)
