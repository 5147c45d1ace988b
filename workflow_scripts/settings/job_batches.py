"""Group the tasks of a model into jobs, and name their rules and records."""

import re
from dataclasses import dataclass
from typing import Literal

from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.settings import Settings

Study = Literal["harmony", "suite"]
RULES: dict[tuple[Study, Protocol], str] = {
    ("harmony", "direct"): "evaluate_direct",
    ("harmony", "few_shot"): "evaluate_few_shot",
    ("harmony", "train_before_test"): "train_before_test",
    ("suite", "few_shot"): "evaluate_suite",
}


@dataclass(frozen=True)
class TaskBatch:
    """The tasks that one job measures on a model; the model is a wildcard."""

    study: Study
    protocol: Protocol
    tasks: tuple[str, ...]
    suffix: str = ""  # of the rule's name, such as _2, if a model's tasks are several batches

    @property
    def base_rule(self) -> str:
        """Return the name of the rule without the suffix."""
        return RULES[self.study, self.protocol]

    @property
    def wildcard(self) -> str:
        """Return the wildcard of the model in paths."""
        return "{checkpoint}" if self.study == "harmony" else "{row}"


def strip_batch_suffix(rule: str) -> str:
    """Remove the batch's suffix from the name of a rule."""
    return re.sub(r"_\d+$", "", rule)


def list_batches(settings: Settings) -> list[TaskBatch]:
    """List the batches of both studies and all protocols, including protocols that the config does not enable."""
    batches = []
    for study, protocol in RULES:
        tasks = list_study_tasks(settings, study, protocol)
        size = settings.cluster.tasks_per_job or len(tasks) or 1
        for start in range(0, len(tasks), size):
            suffix = f"_{start // size + 1}" if size < len(tasks) else ""
            batches.append(TaskBatch(study, protocol, tasks[start : start + size], suffix))
    return batches


def list_cell_records(
    settings: Settings, study: Study, protocol: Protocol, row: str, tasks: tuple[str, ...] = ()
) -> list[str]:
    """List the record of each cell of some tasks, by default all; `row` is a checkpoint or leaderboard row."""
    seeds = list_cell_seeds(settings, study, protocol)
    return [
        f"results/records/{study}/{protocol}/{row}/{cell}.json"
        for task in tasks or list_study_tasks(settings, study, protocol)
        for cell in list_cell_names(task, seeds)
    ]


def list_cell_names(task: str, seeds: tuple[int, ...]) -> list[str]:
    """List the names of a task's records; all seeds but the first are in the name."""
    return [task, *(f"{task}.seed-{seed}" for seed in seeds[1:])]


def list_study_tasks(settings: Settings, study: Study, protocol: Protocol) -> tuple[str, ...]:
    """Return the tasks of a study that support the protocol.

    Fine-tuning, and harmony's few-shot examples, use the training split: a task without one has only the protocol
    direct. In the suite, a task without a training split defines its own few-shot examples.
    """
    if study == "suite":
        return tuple(entry.task for entry in settings.suite.tasks)
    names = settings.harmony.tasks
    return tuple(name for name in names if protocol == "direct" or settings.tasks[name].training)


def list_cell_seeds(settings: Settings, study: Study, protocol: Protocol) -> tuple[int, ...]:
    """Return the seeds of the cells: several for harmony's fine-tuning if configured, otherwise one."""
    is_trained = study == "harmony" and protocol == "train_before_test"
    return (is_trained and settings.harmony.seeds) or (settings.seed,)
