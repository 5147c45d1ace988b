"""Which tasks of a model share a job, and what its rule and files are called."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.settings import Settings

Study = Literal["harmony", "suite"]
RULES: dict[tuple[Study, Protocol], str] = {
    ("harmony", "direct"): "evaluate_direct",
    ("harmony", "few_shot"): "evaluate_few_shot",
    ("harmony", "train_before_test"): "train_before_test",
    ("suite", "few_shot"): "evaluate_suite",
    ("suite", "train_before_test"): "train_suite",
}


@dataclass(frozen=True)
class TaskBatch:
    """The tasks that a job measures of a model, which is a wildcard."""

    study: Study
    protocol: Protocol
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    number: str = ""  # behind the rule's name, where a model's tasks are several batches

    @property
    def base(self) -> str:
        """Name its rule, but for the number."""
        return RULES[self.study, self.protocol]

    @property
    def rule(self) -> str:
        """Name its rule."""
        return self.base + self.number

    @property
    def log(self) -> str:
        """Name the log of its job, with wildcards."""
        return f"logs/{self.base}/{self._wildcard}/tasks{self.number}.log"

    def records(self, suffix: str = "json") -> list[str]:
        """List the files of its cells, with wildcards; a record is named after its task, and lies by its model."""
        return [
            f"results/records/{self.study}/{self.protocol}/{self._wildcard}/{cell}.{suffix}"
            for task in self.tasks
            for cell in list_cell_names(task, self.seeds)
        ]

    @property
    def _wildcard(self) -> str:
        return "{checkpoint}" if self.study == "harmony" else "{row}"


def strip_batch_number(rule: str) -> str:
    """Return the name by which batches of one rule count as one."""
    return re.sub(r"_\d+$", "", rule)


def packs(settings: Settings) -> list[TaskBatch]:
    """List the batches of both studies, whether the config asks for their protocol or not."""
    batches = []
    for study, protocol in RULES:
        whole = _build_whole(settings, study, protocol)
        size = settings.cluster.tasks_per_job or len(whole.tasks) or 1
        for start in range(0, len(whole.tasks), size):
            number = f"_{start // size + 1}" if size < len(whole.tasks) else ""
            tasks = whole.tasks[start : start + size]
            batches.append(replace(whole, tasks=tasks, number=number))
    return batches


def list_harmony_records(settings: Settings, models: list[str]) -> list[str]:
    """List the records of the grid that the config asks for, of models as paths spell them."""
    return [
        path.format(checkpoint=model)
        for study, protocol in RULES
        if study == "harmony" and protocol in settings.harmony.protocols
        for model in models
        for path in _build_whole(settings, study, protocol).records()
    ]


def suite_records(settings: Settings, protocol: Protocol, row: str) -> dict[str, str]:
    """Return the record of each task of a row of the leaderboard."""
    whole = _build_whole(settings, "suite", protocol)
    return dict(zip(whole.tasks, [path.format(row=row) for path in whole.records()], strict=True))


def _build_whole(settings: Settings, study: Study, protocol: Protocol) -> TaskBatch:
    """Put all tasks into one batch."""
    tasks = list_study_tasks(settings, study, protocol)
    return TaskBatch(study, protocol, tasks, list_cell_seeds(settings, study, protocol))


def list_cell_names(task: str, seeds: tuple[int, ...]) -> list[str]:
    """List the names of a task's records: the name of another seed than the first has the seed."""
    return [task, *(f"{task}.seed-{seed}" for seed in seeds[1:])]


def list_study_tasks(settings: Settings, study: Study, protocol: Protocol) -> tuple[str, ...]:
    """Return the tasks of a study that can be asked in this way.

    Training, and the worked examples of Harmony, come from the training split: a task without one is measured
    directly. A task of the suite without one has examples of its own.
    """
    if study == "harmony":
        names, needs_training = settings.harmony.tasks, protocol != "direct"
    else:
        names = tuple(entry.task for entry in settings.suite.tasks)
        needs_training = protocol == "train_before_test"
    return tuple(name for name in names if settings.task(name).training or not needs_training)


def list_cell_seeds(settings: Settings, study: Study, protocol: Protocol) -> tuple[int, ...]:
    """Return the seeds of the cells: Harmony may train with several; all else is asked once."""
    is_trained = study == "harmony" and protocol == "train_before_test"
    return (is_trained and settings.harmony.seeds) or (settings.seed,)
