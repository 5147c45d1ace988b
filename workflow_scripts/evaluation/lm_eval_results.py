"""Convert lm-eval's results and samples to a record's metrics and items."""

import json
import math
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.baselines import (
    NO_BASELINE,
    compute_baselines,
    get_gold_index,
)
from workflow_scripts.evaluation.cells import TaskRequest
from workflow_scripts.evaluation.group_metrics import MetricWithBaseline, add_group_averages
from workflow_scripts.evaluation.names import hash_cluster, metric_name


def check_metric_reported(task: TaskRequest, reported: Collection[str]) -> None:
    if task.metric not in reported:
        raise UserError(
            f"lm-eval reports no {task.metric!r} for the task {task.harness_task}; it reports"
            f" {', '.join(reported)}. Correct the columns metric and filter of the tasks table."
        )


def compute_task_metrics(
    tasks: dict[str, Any], output: dict[str, Any], seed: int
) -> tuple[Metric, ...]:
    """Compute the metrics of a task; for a group, of each member, with the micro and macro average."""
    metrics = []
    for name, task in tasks.items():
        docs = list(
            {sample["doc_id"]: sample["doc"] for sample in output["samples"][name]}.values()
        )
        task_baselines = compute_baselines(task, docs, derive_seed(seed, "chance", name))
        results = output["results"][name]
        for key, value in results.items():
            metric, separator, filter_name = key.partition(",")
            if not separator or metric.endswith("_stderr"):
                continue
            stderr = results.get(f"{metric}_stderr,{filter_name}")
            metrics.append(
                MetricWithBaseline(
                    task=name,
                    name=metric_name(metric, filter_name),
                    value=float(value),
                    stderr=float(stderr) if isinstance(stderr, int | float) else None,
                    n=len(docs),
                    baseline=task_baselines.get((metric, filter_name), NO_BASELINE),
                )
            )
    if len(tasks) == 1:
        return tuple(metric.to_metric(None) for metric in metrics)
    return add_group_averages(metrics)


def collect_items(
    tasks: dict[str, Any],
    samples: dict[str, list[dict[str, Any]]],
    request: TaskRequest,
) -> list[Item]:
    """Build one item per question with the scores of all filters; the primary metric sets `correct`."""
    items = []
    for name, task in tasks.items():
        by_doc = defaultdict(list)
        for sample in samples[name]:
            by_doc[sample["doc_id"]].append(sample)
        for doc_id, doc_samples in by_doc.items():
            first = doc_samples[0]
            item = Item(
                item=f"{name}/{doc_id}",
                subset=name if len(tasks) > 1 else None,
                cluster=hash_cluster(first["doc"], request.cluster),
                prompt_sha256=first["prompt_hash"],
                **_build_answer_fields(task, doc_samples, request.metric),
            )
            items.append(item)
    return items


def _build_answer_fields(task, doc_samples: list[dict], primary_metric: str) -> dict[str, Any]:
    """Return the fields of an item that describe the answer, from lm-eval's samples of it, one per filter."""
    first = doc_samples[0]
    scores = {
        metric_name(metric, sample["filter"]): float(sample[metric])
        for sample in doc_samples
        for metric in sample["metrics"]
        if isinstance(sample[metric], bool | int | float | np.number)
    }
    # A graded score, such as a fraction of probability, is neither correct nor wrong.
    correct = {0.0: False, 1.0: True}.get(scores.get(primary_metric, math.nan))
    fields: dict[str, Any] = {"scores": scores, "correct": correct}
    if task.OUTPUT_TYPE == "generate_until":
        names = [metric_name(sample["metrics"][0], sample["filter"]) for sample in doc_samples]
        primary = doc_samples[names.index(primary_metric) if primary_metric in names else 0]
        target = first["target"]
        return fields | {
            "gold": target if isinstance(target, str) else json.dumps(target, ensure_ascii=False),
            "prediction": str(primary["filtered_resps"][0]),
            "text": str(first["resps"][0][0]),
        }
    if task.OUTPUT_TYPE != "multiple_choice":
        return fields | {"loglikelihoods": [float(first["filtered_resps"][0])]}
    loglikelihoods = np.array([float(value) for value, _ in first["filtered_resps"]])
    lengths = np.ones(len(loglikelihoods))
    if primary_metric == "acc_norm":
        lengths = np.array([len(text) for text in task.doc_to_choice(first["doc"])])
    predicted = int(np.argmax(loglikelihoods / lengths))
    fields |= {"prediction": str(predicted), "loglikelihoods": loglikelihoods.tolist()}
    # A task's own scoring function may accept several correct choices.
    if not callable(task.config.process_results):
        gold = get_gold_index(task, first["doc"])
        fields["gold"] = str(gold)
        if correct is None:  # a corpus-level metric, such as mcc
            fields["correct"] = predicted == gold
    return fields
