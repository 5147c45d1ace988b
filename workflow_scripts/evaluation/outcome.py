"""Translate lm-eval's results and samples into a record's metrics and items."""

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.cells import TaskRequest
from workflow_scripts.evaluation.floors import Floor, average, floors, gold_index
from workflow_scripts.evaluation.lm_eval_run import LmEvalRun
from workflow_scripts.evaluation.names import cluster_of, metric_name

KEPT_CHARACTERS = 1_000  # of a prompt: the question; the examples before it are in the task
NO_FLOOR = Floor(constants={}, chance=None)


def refuse_unreported(task: TaskRequest, reported: Collection[str]) -> None:
    if task.metric not in reported:
        raise UserError(
            f"lm-eval reports no {task.metric!r} for the task {task.harness_task}; it reports"
            f" {', '.join(reported)}. Correct the columns metric and filter of the tasks table."
        )


@dataclass(frozen=True)
class MetricAndFloor:
    """A metric of one task with its floor, before it is a row of the record."""

    task: str
    name: str
    value: float
    stderr: float | None
    n: int
    floor: Floor

    def row(self, subset: str | None) -> Metric:
        if not math.isfinite(self.value):
            raise UserError(
                f"The metric {self.name!r} of {self.task or 'all members'} is {self.value}."
            )
        return Metric(
            name=self.name,
            subset=subset,
            value=self.value,
            stderr=self.stderr,
            n=self.n,
            best_constant=self.floor.best_constant,
            chance=self.floor.chance,
        )


def metrics_of(run: LmEvalRun, seed: int) -> tuple[Metric, ...]:
    """The metrics of a task; of a group: each member's, and the micro and macro average."""
    measured = [metric for name in run.tasks for metric in _measured(run, name, seed)]
    if len(run.tasks) == 1:
        return tuple(metric.row(None) for metric in measured)
    return with_averages(measured)


def with_averages(measured: list[MetricAndFloor]) -> tuple[Metric, ...]:
    """The metrics of each member of a group, and behind them `<name>` and `<name>_macro` of all."""
    rows = [metric.row(metric.task) for metric in measured]
    for name in dict.fromkeys(metric.name for metric in measured):
        same = [metric for metric in measured if metric.name == name]
        sizes = np.array([metric.n for metric in same], dtype=float)
        # Micro: each item counts the same. Macro: each member does. Fields report either.
        rows.append(_mean(name, same, sizes).row(None))
        rows.append(_mean(f"{name}_macro", same, np.ones(len(same))).row(None))
    return tuple(rows)


def _measured(run: LmEvalRun, name: str, seed: int) -> list[MetricAndFloor]:
    results, samples = run.results[name], run.samples[name]
    docs = list({sample["doc_id"]: sample["doc"] for sample in samples}.values())
    found = floors(run.tasks[name], docs, derive_seed(seed, "chance", name))
    measured = []
    for key, value in results.items():
        metric, separator, filter_name = key.partition(",")
        if not separator or metric.endswith("_stderr"):
            continue
        stderr = results.get(f"{metric}_stderr,{filter_name}")
        measured.append(
            MetricAndFloor(
                task=name,
                name=metric_name(metric, filter_name),
                value=float(value),
                stderr=float(stderr) if isinstance(stderr, int | float) else None,
                n=len(docs),
                floor=found.get((metric, filter_name), NO_FLOOR),
            )
        )
    return measured


def _mean(name: str, same: list[MetricAndFloor], sizes: np.ndarray) -> MetricAndFloor:
    share = sizes / sizes.sum()
    stderrs = [metric.stderr for metric in same]
    return MetricAndFloor(
        task="",
        name=name,
        value=float(np.dot(share, [metric.value for metric in same])),
        stderr=None if None in stderrs else float(np.linalg.norm(share * np.array(stderrs))),
        n=sum(metric.n for metric in same),
        floor=average([metric.floor for metric in same], share),
    )


def items_of(run: LmEvalRun, asked: TaskRequest, *, with_texts: bool = False) -> list[Item]:
    """One item per question, with the scores of all filters; `correct` follows the primary metric."""
    items = []
    for name, samples in run.samples.items():
        by_doc: dict[int, list[dict[str, Any]]] = {}
        for sample in samples:
            by_doc.setdefault(sample["doc_id"], []).append(sample)
        for doc_id, of_doc in by_doc.items():
            subset = name if len(run.samples) > 1 else None
            item = _item(run.tasks[name], f"{name}/{doc_id}", subset, of_doc, asked.metric)
            item = replace(item, cluster=_cluster(of_doc[0]["doc"], asked))
            items.append(replace(item, **_texts(of_doc[0])) if with_texts else item)
    return items


def _cluster(doc: dict[str, Any], asked: TaskRequest) -> str | None:
    if lacking := [name for name in asked.cluster if name not in doc]:
        raise UserError(
            f"The items of {asked.harness_task} have no {lacking[0]!r}, which the column cluster of the"
            f" tasks table names; expected one of {', '.join(doc)}."
        )
    return cluster_of(doc, asked.cluster)


def _texts(sample: dict[str, Any]) -> dict[str, Any]:
    """The end of the prompt, which has the question, and the answers to choose from."""
    prompts = [str(request[0]) for request in sample["arguments"]]
    # Where the choices stand in the question (Winogrande) they begin where the questions part.
    differing = (
        at for at, letters in enumerate(zip(*prompts, strict=False)) if len({*letters}) > 1
    )
    shared = prompts[0][: next(differing, min(map(len, prompts)))]
    choices = None
    if len(prompts) > 1:
        choices = [
            f"{context[len(shared) :]}{continuation}".strip()
            for context, continuation in sample["arguments"]
        ]
    return {"prompt": shared[-KEPT_CHARACTERS:], "choices": choices}


def _item(task, item: str, subset: str | None, of_doc: list[dict], primary_metric: str) -> Item:
    scores = {
        metric_name(metric, sample["filter"]): float(sample[metric])
        for sample in of_doc
        for metric in sample["metrics"]
        if isinstance(sample[metric], bool | int | float | np.number)
    }
    first = of_doc[0]
    common = {
        "item": item,
        "subset": subset,
        "prompt_sha256": first["prompt_hash"],
        "scores": scores,
        # A graded score, such as a share of probability, is neither right nor wrong.
        "correct": {0.0: False, 1.0: True}.get(scores.get(primary_metric, math.nan)),
    }
    if task.OUTPUT_TYPE == "multiple_choice":
        lls = [float(loglikelihood) for loglikelihood, _ in first["filtered_resps"]]
        predicted = _predicted(task, first["doc"], lls, primary_metric)
        gold = gold_index(task, first["doc"])
        if callable(task.config.process_results):  # its own scoring: no one answer is the right one
            return Item(gold=None, prediction=str(predicted), loglikelihoods=lls, **common)
        if common["correct"] is None:  # a metric of the whole set, such as mcc
            common["correct"] = predicted == gold
        return Item(gold=str(gold), prediction=str(predicted), loglikelihoods=lls, **common)
    if task.OUTPUT_TYPE == "generate_until":
        primary = next(
            (s for s in of_doc if metric_name(s["metrics"][0], s["filter"]) == primary_metric),
            first,
        )
        target = first["target"]
        return Item(
            gold=target if isinstance(target, str) else json.dumps(target, ensure_ascii=False),
            prediction=str(primary["filtered_resps"][0]),
            text=str(first["resps"][0][0]),
            **common,
        )
    return Item(
        gold=None, prediction=None, loglikelihoods=[float(first["filtered_resps"][0])], **common
    )


def _predicted(task, doc: dict, lls: list[float], primary_metric: str) -> int:
    if primary_metric != "acc_norm":
        return int(np.argmax(lls))
    return int(
        np.argmax([ll / len(text) for ll, text in zip(lls, task.doc_to_choice(doc), strict=True)])
    )
