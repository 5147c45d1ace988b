"""Read lm-eval's results_*.json with the samples_*.jsonl of the same folder."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import format_canonical_json
from workflow_scripts.core.items import Item
from workflow_scripts.evaluation.names import hash_cluster, metric_name
from workflow_scripts.scores.foreign.cells import (
    CellWithItems,
    ImportedCell,
    ImportedScore,
    TaskFields,
    TaskNames,
    get_model_name,
)

KEYS = ("results", "n-samples", "n-shot")


def read(
    path: Path,
    content: dict[str, Any],
    names: TaskNames,
    tasks: TaskFields,
) -> Iterator[CellWithItems]:
    """Read each task, and each group of tasks that has a score, with the items of its members."""
    groups = content["group_subtasks"]
    results = content["results"]
    scored = [name for name, scores in results.items() if any("," in key for key in scores)]
    members = {name for group in scored for name in _list_members(group, groups)}
    config = content["config"]
    counts = content["n-samples"]
    for task in [name for name in scored if name not in members]:
        clusters = tasks.get(names.get("lm_eval", {}).get(task, ""), {}).get("cluster", [])
        leaves = [leaf for leaf in (task, *_list_members(task, groups)) if leaf in counts]
        n = sum(counts[leaf]["effective"] for leaf in leaves)
        (shots,) = {content["n-shot"][leaf] for leaf in leaves}
        cell = ImportedCell(
            harness="lm_eval",
            harness_version=content["lm_eval_version"],
            model=get_model_name(content["model_name"]),
            commit=config.get("model_sha") or None,
            dtype=config.get("model_dtype", "").removeprefix("torch.") or None,
            task=task,
            shots=shots,
            scores=tuple(_read_scores(results[task], n)),
        )
        items = [item for leaf in leaves for item in _read_items(path, leaf, clusters)]
        if leaves != [task]:
            items = [replace(item, subset=item.item.rpartition("/")[0]) for item in items]
        yield cell, items


def _list_members(task: str, groups: dict[str, list[str]]) -> Iterator[str]:
    for name in groups.get(task, ()):
        yield name
        yield from _list_members(name, groups)


def _read_scores(scores: dict[str, Any], n: int) -> Iterator[ImportedScore]:
    """Read the scores of a task; lm-eval writes a word or nothing for a missing number."""
    numbers = {key: value for key, value in scores.items() if isinstance(value, int | float)}
    for key, value in numbers.items():
        metric, comma, filter_name = key.partition(",")
        if comma and not metric.endswith("_stderr"):
            yield ImportedScore(
                name=metric_name(metric, filter_name),
                value=value,
                stderr=numbers.get(f"{metric}_stderr,{filter_name}"),
                n=n,
            )


def _read_items(path: Path, task: str, clusters: list[str]) -> list[Item]:
    """Read the items of a task, or none if lm-eval did not log them; each filter has its own samples."""
    file = path.with_name(f"samples_{task}_{path.stem.removeprefix('results_')}.jsonl")
    if not file.is_file():
        return []
    by_item = defaultdict(list)
    with file.open(encoding="utf-8") as lines:
        for sample in map(json.loads, lines):
            by_item[sample["doc_id"]].append(sample)
    return [_read_item(task, samples, clusters) for samples in by_item.values()]


def _read_item(task: str, samples: list[dict[str, Any]], clusters: list[str]) -> Item:
    first = samples[0]
    target = first["target"]
    scores = {
        metric_name(name, sample["filter"]): float(sample[name])
        for sample in samples
        for name in sample["metrics"]
        if isinstance(sample[name], int | float)
    }
    item = Item(
        item=f"{task}/{first['doc_id']}",
        prompt_sha256=first["prompt_hash"],
        gold=target if isinstance(target, str) else format_canonical_json(target),
        prediction=str(first["filtered_resps"][0]),
        cluster=hash_cluster(first["doc"], clusters),
        scores=scores,
    )
    continuations = [list(arguments.values())[-1] for arguments in first["arguments"].values()]
    if len(continuations) == 1:
        return item
    # The prediction is the most likely choice; the target is the index or text of a choice.
    choices = [str(continuation).removeprefix(" ") for continuation in continuations]
    likelihoods = [float(answer[0]) for answer in first["filtered_resps"]]
    return replace(
        item,
        gold=str(target) if str(target).isdecimal() else str(choices.index(target)),
        prediction=str(likelihoods.index(max(likelihoods))),
        loglikelihoods=likelihoods,
        choices=choices,
    )
