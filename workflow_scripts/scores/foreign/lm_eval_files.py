"""lm-eval's results_*.json with the samples_*.jsonl beside it, of the pinned version and of 2024."""

import json
import math
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import canonical_json
from workflow_scripts.core.items import Item
from workflow_scripts.evaluation.names import cluster_of, metric_name
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore, Measured, number_of
from workflow_scripts.scores.foreign.requests import TaskHere

KEYS = ("results", "configs", "n-shot")  # of every version
_UNKNOWN = TaskHere(metric="acc", shots=(), cluster=())


def read_lm_eval(
    path: Path, content: dict[str, Any], model: str, tasks: dict[str, TaskHere]
) -> Iterator[Measured]:
    """Read each task, and each group of tasks, which has the items of its members."""
    configs, groups = content["configs"], content.get("group_subtasks") or {}
    results = {**(content.get("groups") or {}), **content["results"]}
    # A group that has a score tells of its members; one that has none only lists them.
    members = {
        name
        for group in groups
        if _is_scored(results.get(group))
        for name in _descend(group, groups)
    }
    for task, scores in results.items():
        if task in members or (groups.get(task) and not _is_scored(scores)):
            continue
        known = tasks.get(task, _UNKNOWN)
        leaves = [leaf for leaf in (task, *_descend(task, groups)) if leaf in configs]
        is_group = leaves != [task]
        parts = {leaf: content["results"].get(leaf, {}) for leaf in leaves if is_group}
        samples = [
            sample for leaf in leaves for sample in _read_samples(path, leaf, known, is_group)
        ]
        sizes = {
            leaf: (content.get("n-samples") or {}).get(leaf, {}).get("effective") for leaf in leaves
        }
        whole_size = None if None in sizes.values() else sum(sizes.values())
        numbers = [*_numbers(path, task, scores, whole_size, known.metric, None)]
        for leaf, part in parts.items():
            numbers += _numbers(path, leaf, part, sizes[leaf], known.metric, leaf)
        if is_group:
            numbers += _macro_means(numbers, len(leaves))
        shots = {content["n-shot"].get(leaf) for leaf in leaves}
        if len(shots) != 1 or not isinstance(next(iter(shots)), int):
            raise UserError(
                f"{path}: n-shot of {task} is {', '.join(map(str, shots))}; expected one number."
            )
        if any(number.subset is None for number in numbers):
            config = content.get("config") or {}
            given = _model_args(content)
            dtype = str(config.get("model_dtype") or given.get("dtype") or "")
            (number_of_shots,) = shots
            cell = ImportedCell(
                file=str(path),
                harness="lm_eval",
                harness_version=content.get("lm_eval_version") or content.get("git_hash"),
                model=model,
                commit=config.get("model_sha") or None,
                dtype=dtype.removeprefix("torch.").replace("auto", "") or None,
                task=task,
                protocol="few_shot" if number_of_shots else "direct",
                shots=number_of_shots,
                scores=tuple(numbers),
            )
            yield cell, [item for item, _ in samples], [choices for _, choices in samples]


def model_of_lm_eval(content: dict[str, Any]) -> Any:
    given = _model_args(content)
    return given.get("pretrained") or given.get("model") or content.get("model_name")


def _model_args(content: dict[str, Any]) -> dict[str, Any]:
    given = (content.get("config") or {}).get("model_args") or {}
    return dict(re.findall(r"([^=,]+)=([^,]+)", given)) if isinstance(given, str) else given


def _is_scored(scores: Any) -> bool:
    return isinstance(scores, dict) and any("," in key for key in scores)


def _descend(task: str, groups: dict[str, list[str]]) -> Iterator[str]:
    """Yield the members of a group, and theirs."""
    for name in groups.get(task) or ():
        yield name
        yield from _descend(name, groups)


def _numbers(
    path: Path, task: str, scores: dict, n: int | None, reported: str, subset: str | None
) -> Iterator[ImportedScore]:
    """Yield each score; one that is no number is left out, unless it is that which tables report."""
    for key, said in scores.items():
        metric, comma, filter_name = key.partition(",")
        if not comma or metric.endswith("_stderr"):
            continue
        value, name = number_of(said), metric_name(metric, filter_name)
        if value is not None:
            stderr = number_of(scores.get(f"{metric}_stderr,{filter_name}"))
            yield ImportedScore(name=name, subset=subset, value=value, stderr=stderr, n=n)
        elif reported in (name, metric):
            raise UserError(f"{path}: results.{task}.{key} is {said!r}; expected a number.")


def _macro_means(numbers: list[ImportedScore], members: int) -> Iterator[ImportedScore]:
    """Average over the members of a group, each counting the same; lm-eval's own mean is over their items."""
    for whole in numbers:
        parts = [part for part in numbers if part.subset and part.name == whole.name]
        if whole.subset is None and len(parts) == members:
            errors = [part.stderr for part in parts if part.stderr is not None]
            stderr = math.hypot(*errors) / members if len(errors) == members else None
            value = fmean(part.value for part in parts)
            name = f"{whole.name}_macro"
            yield ImportedScore(name=name, value=value, stderr=stderr, n=whole.n)


def _read_samples(
    path: Path, task: str, known: TaskHere, is_member: bool
) -> list[tuple[Item, tuple[str, ...]]]:
    """Read the items of a task, each with its choices; none where lm-eval was not told to log them."""
    file = path.with_name(f"samples_{task}_{path.stem.removeprefix('results_')}.jsonl")
    if not path.name.startswith("results_") or not file.is_file():
        return []
    by_item: dict[Any, list[dict[str, Any]]] = {}
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            by_item.setdefault(sample["doc_id"], []).append(sample)
        return [_item(task, samples, known, is_member) for samples in by_item.values()]
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise UserError(
            f"{file} is no whole file of samples ({type(error).__name__}: {error})."
        ) from None


def _item(
    task: str, samples: list[dict[str, Any]], known: TaskHere, is_member: bool
) -> tuple[Item, tuple[str, ...]]:
    """Read one question; several filters of an answer are several samples."""
    scores = {
        metric_name(metric, sample.get("filter", "none")): float(sample[metric])
        for sample in samples
        for metric in sample.get("metrics") or ("acc", "acc_norm", "exact_match")
        if isinstance(sample.get(metric), bool | int | float)
    }
    first = samples[0]
    arguments = first["arguments"]  # lists of context and continuation, later objects
    if isinstance(arguments, dict):
        arguments = [list(pair.values()) for pair in arguments.values()]
    target, answers = first["target"], first["filtered_resps"]
    texts: tuple[str, ...] = ()
    gold: str | None
    likelihoods: list[float] | None
    text: str | None
    prompt = first.get("prompt_hash") or sha256(str(arguments[0][0]).encode()).hexdigest()
    correct = {0.0: False, 1.0: True}.get(scores.get(known.metric, -1.0))
    gold = target if isinstance(target, str) else canonical_json(target)
    prediction, likelihoods, text = str(answers[0]), None, None
    if len(arguments) > 1:  # the likeliest of several
        texts = tuple(str(continuation).removeprefix(" ") for _, continuation in arguments)
        likelihoods = [float(answer[0]) for answer in answers]
        lengths = [max(len(one), 1) if known.metric == "acc_norm" else 1 for one in texts]
        place = _argmax([ll / length for ll, length in zip(likelihoods, lengths, strict=True)])
        right = _gold(target, texts, _argmax(likelihoods), scores.get("acc"))
        prediction, gold = str(place), None if right is None else str(right)
        if correct is None and right is not None:
            correct = place == right
    else:
        response = first["resps"][0]
        text = str(response[0] if isinstance(response, list) else response)
    item = Item(
        item=f"{task}/{first['doc_id']}",
        prompt_sha256=prompt,
        gold=gold,
        prediction=prediction,
        correct=correct,
        subset=task if is_member else None,
        cluster=cluster_of(first["doc"], known.cluster),
        scores=scores,
        loglikelihoods=likelihoods,
        text=text,
    )
    return item, texts


def _argmax(values: list[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _gold(target: Any, choices: tuple[str, ...], likeliest: int, acc: float | None) -> int | None:
    """Return the place of the right answer, told as such or as its text; where both fit, acc says which."""
    said = str(target).strip()
    places = [int(said)] if said.isdecimal() and int(said) < len(choices) else []
    places += [choices.index(said)] if said in choices else []
    fitting = [place for place in places if acc is None or (place == likeliest) == (acc == 1)]
    return fitting[0] if fitting else None
