"""Where the task of somebody else's file is another than ours, as far as the file says it."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from workflow_scripts.hub.tasks import definitions_of
from workflow_scripts.scores.foreign.measured import Measured
from workflow_scripts.scores.foreign.requests import TaskHere

# What decides of lighteval's tasks, as the pinned version has it and writes it; importing that takes seconds.
_LIGHTEVAL: dict[str, dict[str, Any]] = {
    "mmlu": {
        "version": 0,
        "prompt_function": "mmlu_prompt",
        "evaluation_splits": ["test"],
        "few_shots_split": "dev",
        "few_shots_select": None,
        "generation_size": 5,
        "stop_sequence": ["\n"],
    }
}


def differences(one: Measured, here: TaskHere | None) -> tuple[str, ...]:
    """Data, examples, version and metric, in half a sentence each; none of a task that we do not have."""
    return tuple(_differences(one, here)) if here else ()


def _differences(one: Measured, here: TaskHere) -> Iterator[str]:
    theirs = one.definition
    data = theirs.get("dataset_path") or theirs.get("hf_repo")
    part = theirs.get("dataset_name") or theirs.get("hf_subset")
    if isinstance(data, str) and not _same_data(data, here.dataset):
        yield f"of the data {data}, ours of {here.dataset}"
    elif isinstance(part, str) and here.subset and part != here.subset:
        yield f"of {part} of these data, ours of {here.subset}"
    if here.shots and one.shots not in here.shots:
        yield f"{one.shots} examples, ours {_or(here.shots)}"
    if one.harness == "lighteval":
        for key, ours in _LIGHTEVAL.get(here.harness_task, {}).items():
            if theirs.get(key, ours) != ours:
                yield f"{key} is {theirs[key]!r}, ours {ours!r}"
    if one.harness == "lm_eval" and isinstance(one.task_version, int | float):
        ours = _versions(here.harness_task).get(str(theirs.get("task")))
        if ours is not None and one.task_version != ours:
            yield f"version {one.task_version} of the task, ours {ours}"
    if not set(here.metrics) & set(one.scores):
        yield f"no {_or(here.metrics)}, which our tables report"


def _or(parts: Iterable[object]) -> str:
    return " or ".join(map(str, parts))


def _same_data(theirs: str, ours: str) -> bool:
    """By their last part where a file names a folder, or one of the hub's old names without an owner."""
    is_whole = "/" in theirs and not theirs.startswith(("/", "."))
    return theirs == ours if is_whole else theirs.split("/")[-1] == ours.split("/")[-1]


@cache
def _versions(task: str) -> dict[str, Any]:
    """lm-eval's own, by task; of a group those of its members."""
    members, _ = definitions_of(task)
    return {one["task"]: (one.get("metadata") or {}).get("version") for one in members}
