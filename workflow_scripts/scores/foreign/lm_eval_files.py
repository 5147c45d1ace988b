"""Read lm-eval's results_*.json with the samples_*.jsonl beside it."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import canonical_json
from workflow_scripts.core.items import Item
from workflow_scripts.evaluation.names import hash_cluster, metric_name
from workflow_scripts.scores.foreign.cells import (
    ImportedCell,
    ImportedScore,
    Measured,
    get_model_name,
    parse_number,
)

KEYS = ("results", "n-samples", "n-shot")
_UNKNOWN_TASK = {"metric": "acc", "cluster": []}


def read(
    path: Path,
    content: dict[str, Any],
    names: dict[str, dict[str, str]],
    tasks: dict[str, dict[str, Any]],
) -> Iterator[Measured]:
    """Read each task, and each group of tasks that has a score, with the items of its members."""
    groups = content.get("group_subtasks") or {}
    results = (content.get("groups") or {}) | content["results"]
    scored = {name for name, scores in results.items() if any("," in key for key in scores)}
    members = {name for group in scored for name in _list_members(group, groups)}
    config = content["config"]
    for task in [name for name in results if name in scored - members]:
        known = tasks.get(names.get("lm_eval", {}).get(task, ""), _UNKNOWN_TASK)
        counts = content["n-samples"]
        leaves = [leaf for leaf in (task, *_list_members(task, groups)) if leaf in counts]
        sizes = {leaf: counts[leaf]["effective"] for leaf in leaves}
        scores = list(_read_scores(results[task], sum(sizes.values()), None))
        if not scores:
            raise UserError(f"{path}: {task} has no number for a score.")
        items: list[Item] = []
        is_group = leaves != [task]
        for leaf in leaves:
            if is_group:
                scores += _read_scores(content["results"].get(leaf, {}), sizes[leaf], leaf)
            items += _read_items(path, leaf, known, leaf if is_group else None)
        if is_group:
            scores += _average_members(scores, len(leaves))
        (shots,) = {content["n-shot"][leaf] for leaf in leaves}
        cell = ImportedCell(
            file=str(path),
            harness="lm_eval",
            harness_version=content.get("lm_eval_version"),
            model=get_model_name(content["model_name"], path),
            commit=config.get("model_sha") or None,
            dtype=config.get("model_dtype", "").removeprefix("torch.") or None,
            task=task,
            protocol="few_shot" if shots else "direct",
            shots=shots,
            scores=tuple(scores),
        )
        yield cell, items


def _list_members(task: str, groups: dict[str, list[str]]) -> Iterator[str]:
    for name in groups.get(task) or ():
        yield name
        yield from _list_members(name, groups)


def _read_scores(scores: dict[str, Any], n: int, subset: str | None) -> Iterator[ImportedScore]:
    for key, number in scores.items():
        metric, comma, filter_name = key.partition(",")
        value = parse_number(number)
        if comma and not metric.endswith("_stderr") and value is not None:
            name = metric_name(metric, filter_name)
            stderr = parse_number(scores.get(f"{metric}_stderr,{filter_name}"))
            yield ImportedScore(name=name, subset=subset, value=value, stderr=stderr, n=n)


def _average_members(scores: list[ImportedScore], members: int) -> list[ImportedScore]:
    """Average over the members of a group, each counting the same; lm-eval's own mean is over their items."""
    means = []
    for whole in (score for score in scores if score.subset is None):
        parts = [score for score in scores if score.subset and score.name == whole.name]
        if len(parts) == members:
            errors = [score.stderr for score in parts if score.stderr is not None]
            stderr = math.hypot(*errors) / members if len(errors) == members else None
            update = {
                "name": f"{whole.name}_macro",
                "value": fmean(score.value for score in parts),
                "stderr": stderr,
            }
            means.append(whole.model_copy(update=update))
    return means


def _read_items(path: Path, task: str, known: dict[str, Any], subset: str | None) -> list[Item]:
    """Read the items of a task; none where lm-eval did not log them. Several filters are several samples."""
    file = path.with_name(f"samples_{task}_{path.stem.removeprefix('results_')}.jsonl")
    if not file.is_file():
        return []
    by_item: dict[int, list[dict[str, Any]]] = {}
    with file.open(encoding="utf-8") as lines:
        for sample in map(json.loads, lines):
            by_item.setdefault(sample["doc_id"], []).append(sample)
    return [_read_item(task, samples, known, subset) for samples in by_item.values()]


def _read_item(
    task: str, samples: list[dict[str, Any]], known: dict[str, Any], subset: str | None
) -> Item:
    first = samples[0]
    target, answers = first["target"], first["filtered_resps"]
    scores = {
        metric_name(metric, sample["filter"]): float(sample[metric])
        for sample in samples
        for metric in sample["metrics"]
        if isinstance(sample[metric], bool | int | float)
    }
    item = Item(
        item=f"{task}/{first['doc_id']}",
        prompt_sha256=first.get("prompt_hash", ""),  # which old versions do not write
        gold=target if isinstance(target, str) else canonical_json(target),
        prediction=str(answers[0]),
        correct={0.0: False, 1.0: True}.get(scores.get(known["metric"], -1.0)),
        subset=subset,
        cluster=hash_cluster(first["doc"], known["cluster"]),
        scores=scores,
    )
    pairs = [list(arguments.values()) for arguments in first["arguments"].values()]
    if len(pairs) == 1:
        response = first["resps"][0]
        text = response[0] if isinstance(response, list) else response
        return replace(item, text=str(text))
    # The likeliest of several answers; the right one is told by its place or its text.
    choices = [str(continuation).removeprefix(" ") for _, continuation in pairs]
    likelihoods = [float(answer[0]) for answer in answers]
    lengths = [len(text) or 1 if known["metric"] == "acc_norm" else 1 for text in choices]
    ranked = [value / length for value, length in zip(likelihoods, lengths, strict=True)]
    prediction = str(ranked.index(max(ranked)))
    gold = str(target) if str(target).isdecimal() else str(choices.index(target))
    return replace(
        item,
        gold=gold,
        prediction=prediction,
        correct=prediction == gold if item.correct is None else item.correct,
        loglikelihoods=likelihoods,
        choices=choices,
    )
