"""lm-eval's results_*.json with the samples_*.jsonl beside it, of the pinned version and of 2024."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import Item
from workflow_scripts.evaluation.names import cluster_of, metric_name
from workflow_scripts.scores.foreign.measured import (
    ForeignScore,
    Measured,
    model_name,
    number_of,
)

KEYS = ("results", "configs", "n-shot")  # of every version
_DTYPE = re.compile(r"(?:^|,)dtype=([^,]+)")
_NAMED = re.compile(r"(?:^|,)(?:pretrained|model)=([^,]+)")


class AskedTask(NamedTuple):
    """What the tables know of a task: the metric that they report, and the columns that its items share."""

    metric: str = "acc"
    cluster: tuple[str, ...] = ()


def is_lm_eval(content: dict[str, Any]) -> bool:
    return all(isinstance(content.get(key), dict) for key in KEYS)


def read_lm_eval(
    path: Path, content: dict[str, Any], asked: dict[str, AskedTask]
) -> Iterator[Measured]:
    """One for each task, and for each group of tasks, which has the items of its members."""
    configs, groups = content["configs"], content.get("group_subtasks") or {}
    config = content.get("config") or {}
    about: dict[str, Any] = {
        "file": path,
        "harness": "lm_eval",
        "version": content.get("lm_eval_version") or content.get("git_hash"),
        "model": model_name(_model_of(content, config), path),
        "commit": config.get("model_sha") or None,
        "dtype": _dtype_of(config),
    }
    told = {**(content.get("groups") or {}), **content["results"]}
    # A group that has a score tells of its members; one that has none only lists them.
    of_groups = {
        name for group in groups if _is_scored(told.get(group)) for name in _under(group, groups)
    }
    for task, scores in told.items():
        if task in of_groups or (groups.get(task) and not _is_scored(scores)):
            continue
        leaves = [name for name in dict.fromkeys((task, *_under(task, groups))) if name in configs]
        if not leaves:
            raise UserError(f"{path}: {task} has no definition in configs; expected one.")
        several, samples = leaves != [task], []
        for name in leaves:
            samples += _samples(path, content, name, asked.get(task, AskedTask()), several)
        wanted = asked[task].metric if task in asked else None
        numbers = _numbers(path, task, scores, wanted)
        of_leaves: dict[str, Any] = {}
        if several:
            of_leaves = {name: content["results"].get(name, {}) for name in leaves}
            numbers |= _over_members(numbers, list(of_leaves.values()))
        if numbers:
            yield Measured(
                **about,
                task=task,
                shots=_shots(path, content, leaves),
                scores=numbers,
                n=_count(content, leaves),
                definition=configs[leaves[0]],
                task_version=(content.get("versions") or {}).get(leaves[0]),
                items=tuple(item for item, _ in samples),
                answers=_samples_file(path, leaves[0]) if samples else None,
                choices=tuple(choices for _, choices in samples),
                parts={
                    name: {
                        metric: replace(one, n=_count(content, [name]))
                        for metric, one in _numbers(path, name, found, wanted).items()
                    }
                    for name, found in of_leaves.items()
                },
            )


def _model_of(content: dict[str, Any], config: dict[str, Any]) -> Any:
    said = content.get("model_name")
    given = config.get("model_args")
    if isinstance(given, dict):
        said = given.get("pretrained") or given.get("model") or said
    elif isinstance(given, str) and (match := _NAMED.search(given)):
        said = match[1]
    return said


def _dtype_of(config: dict[str, Any]) -> str | None:
    """As it was loaded, or else as it was asked for, unless that was left open."""
    said, given = config.get("model_dtype"), config.get("model_args")
    if not said and isinstance(given, str) and (match := _DTYPE.search(given)):
        said = match[1]
    return (said or "").removeprefix("torch.").replace("auto", "") or None


def _is_scored(scores: Any) -> bool:
    return isinstance(scores, dict) and any("," in key for key in scores)


def _under(task: str, groups: dict[str, list[str]]) -> Iterator[str]:
    """Its members, and theirs."""
    for name in groups.get(task) or ():
        yield name
        yield from _under(name, groups)


def _shots(path: Path, content: dict[str, Any], leaves: list[str]) -> int:
    shots = {content["n-shot"].get(name) for name in leaves}
    (one, *more) = shots
    if more or not isinstance(one, int) or one < 0:
        said = ", ".join(map(str, sorted(shots, key=str)))
        raise UserError(
            f"{path}: n-shot of {leaves[0]} is {said}; expected one number of examples."
        )
    return one


def _count(content: dict[str, Any], leaves: list[str]) -> int | None:
    known = [(content.get("n-samples") or {}).get(name, {}).get("effective") for name in leaves]
    return sum(known) if all(isinstance(one, int) for one in known) else None


def _numbers(path: Path, task: str, scores: Any, wanted: str | None) -> dict[str, ForeignScore]:
    """By metric; one that is no number is left out and named, unless it is that which tables report."""
    if not isinstance(scores, dict):
        raise UserError(f"{path}: results.{task} is {scores!r}; expected scores by metric.")
    found = {}
    for key, said in scores.items():
        metric, comma, filter_name = key.partition(",")
        if not comma or metric.endswith("_stderr"):
            continue
        value, name = number_of(said), metric_name(metric, filter_name)
        if value is None and wanted in (name, metric):
            raise UserError(f"{path}: results.{task}.{key} is {said!r}; expected a number.")
        if value is None:
            print(f"{path}: results.{task}.{key} is {said!r}, no number, and is left out.")
            continue
        error = number_of(scores.get(f"{metric}_stderr,{filter_name}"))
        found[name] = ForeignScore(value, error)
    return found


def _over_members(
    of_group: Iterable[str], members: list[dict[str, Any]]
) -> dict[str, ForeignScore]:
    """The mean over the members of a group, each counting the same, as lm-eval's own is over their items."""
    found = {}
    for name in of_group:
        key, _, filter_name = name.partition(",")
        ends = f",{filter_name or 'none'}"
        values = [number_of(one.get(f"{key}{ends}")) for one in members]
        errors = [number_of(one.get(f"{key}_stderr{ends}")) for one in members]
        if None not in values:
            error = np.linalg.norm(np.array(errors, dtype=float)) / len(members)
            found[f"{name}_macro"] = ForeignScore(
                float(np.mean(np.array(values, dtype=float))),
                None if np.isnan(error) else float(error),
            )
    return found


def _samples_file(path: Path, task: str) -> Path:
    return path.with_name(f"samples_{task}_{path.stem.removeprefix('results_')}.jsonl")


def _samples(
    path: Path, content: dict[str, Any], task: str, asked: AskedTask, of_group: bool
) -> list[tuple[Item, tuple[str, ...]]]:
    """The items of a task, each with its choices; none where lm-eval was not told to log them."""
    file = _samples_file(path, task)
    if not path.name.startswith("results_") or not file.is_file():
        return []
    by_item: dict[Any, list[dict[str, Any]]] = {}
    hashes = []
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                sample = json.loads(line)
                hashes += [
                    sample[key]
                    for key in ("doc_hash", "prompt_hash", "target_hash")
                    if key in sample
                ]
                by_item.setdefault(sample["doc_id"], []).append(sample)
        found = [_item(task, samples, asked, of_group) for samples in by_item.values()]
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise UserError(
            f"{file} is no whole file of samples ({type(error).__name__}: {error})."
        ) from None
    expected = (content.get("task_hashes") or {}).get(task)
    if expected and expected != sha256("".join(hashes).encode()).hexdigest():
        raise UserError(
            f"{file} has other items than {path.name} was computed from; expected the same."
        )
    return found


def _item(
    task: str, samples: list[dict[str, Any]], asked: AskedTask, of_group: bool
) -> tuple[Item, tuple[str, ...]]:
    """One question; several filters of an answer are several samples."""
    scores = {
        metric_name(metric, sample.get("filter", "none")): float(sample[metric])
        for sample in samples
        for metric in sample.get("metrics")
        or [key for key in ("acc", "acc_norm", "exact_match") if key in sample]
        if isinstance(sample.get(metric), bool | int | float)
    }
    first = samples[0]
    requests = _arguments(first["arguments"])
    item: dict[str, Any] = {
        "item": f"{task}/{first['doc_id']}",
        "prompt_sha256": first.get("prompt_hash") or sha256(requests[0][0].encode()).hexdigest(),
        "subset": task if of_group else None,
        "cluster": cluster_of(first["doc"], asked.cluster),
        "scores": scores,
        "correct": {0.0: False, 1.0: True}.get(scores.get(asked.metric, -1.0)),
    }
    answers = first["filtered_resps"]
    if len(requests) > 1:  # the likeliest of several
        likely = [float(answer[0]) for answer in answers]
        choices = tuple(continuation.removeprefix(" ") for _, continuation in requests)
        lengths = [len(text) if asked.metric == "acc_norm" else 1 for text in choices]
        prediction = _highest([ll / max(n, 1) for ll, n in zip(likely, lengths, strict=True)])
        gold = _gold(first["target"], choices, _highest(likely), scores.get("acc"))
        if item["correct"] is None and gold is not None:
            item["correct"] = prediction == gold
        gold_text = None if gold is None else str(gold)
        return Item(
            gold=gold_text, prediction=str(prediction), loglikelihoods=likely, **item
        ), choices
    target = first["target"]
    gold_text = target if isinstance(target, str) else json.dumps(target, ensure_ascii=False)
    answer, whole = answers[0], first["resps"][0]
    text = whole[0] if isinstance(whole, list) else whole
    return Item(gold=gold_text, prediction=str(answer), text=str(text), **item), ()


def _highest(values: list[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _arguments(said: Any) -> list[list[str]]:
    """Pairs of context and continuation: a list of lists once, later an object with numbered keys."""
    if isinstance(said, dict):
        said = [list(one.values()) for one in said.values()]
    return [list(map(str, one)) for one in said]


def _gold(target: Any, choices: tuple[str, ...], likeliest: int, acc: float | None) -> int | None:
    """The place of the right answer, which is told as such or as its text; where both fit, acc says which."""
    said = str(target).strip()
    places = [int(said)] if said.isdecimal() and int(said) < len(choices) else []
    places += [choices.index(said)] if said in choices else []
    fitting = [one for one in places if acc is None or (one == likeliest) == (acc == 1)]
    return fitting[0] if fitting else None
