"""Which tasks of a model share a job, and what its rule and files are called."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.load import Settings

Study = Literal["harmony", "suite"]
RULES: dict[tuple[Study, Protocol], str] = {
    ("harmony", "direct"): "evaluate_direct",
    ("harmony", "few_shot"): "evaluate_few_shot",
    ("harmony", "train_before_test"): "train_before_test",
    ("suite", "few_shot"): "evaluate_suite",
    ("suite", "train_before_test"): "train_suite",
}
_NUMBER = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Pack:
    """The tasks that a job measures of a model, which is a wildcard."""

    study: Study
    protocol: Protocol
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    number: str = ""  # behind the rule's name, where a model's tasks are several packs

    @property
    def base(self) -> str:
        """What its rule is called, but for the number."""
        return RULES[self.study, self.protocol]

    @property
    def rule(self) -> str:
        return self.base + self.number

    def records(self, suffix: str = "json") -> list[str]:
        """The files of its cells, with wildcards; a record is named after its task, and lies by its model."""
        return [
            f"results/records/{self.study}/{self.protocol}/{self._whose}/{cell}.{suffix}"
            for task in self.tasks
            for cell in cell_names(task, self.seeds)
        ]

    @property
    def log(self) -> str:
        return f"logs/{self.base}/{self._whose}/tasks{self.number}.log"

    @property
    def _whose(self) -> str:
        return "{checkpoint}" if self.study == "harmony" else "{row}"


def base_of(rule: str) -> str:
    """By which packs of one rule count as one."""
    return _NUMBER.sub("", rule)


def packs(settings: Settings) -> list[Pack]:
    """All of both studies; what the config does not ask for can be asked for by name."""
    return [
        replace(whole, tasks=tasks, number=number)
        for study, protocol in RULES
        for whole in [_whole(settings, study, protocol)]
        for number, tasks in _cut(whole.tasks, settings.cluster.tasks_per_job).items()
    ]


def _cut(tasks: tuple[str, ...], tasks_per_job: int | None) -> dict[str, tuple[str, ...]]:
    if not tasks:
        return {}
    size = tasks_per_job or len(tasks)
    cut = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    return {"": cut[0]} if len(cut) == 1 else {f"_{n}": p for n, p in enumerate(cut, start=1)}


def harmony_records(
    settings: Settings, models: list[str], protocol: Protocol | None = None
) -> list[str]:
    """The records of the grid that the config asks for, of models as paths spell them; or those of one protocol."""
    protocols = settings.harmony.protocols if protocol is None else (protocol,)
    return [
        path.format(checkpoint=model)
        for study, protocol in RULES
        if study == "harmony" and protocol in protocols
        for model in models
        for path in _whole(settings, study, protocol).records()
    ]


def suite_records(settings: Settings, protocol: Protocol, row: str) -> dict[str, str]:
    """The record of each task of a row of the leaderboard."""
    whole = _whole(settings, "suite", protocol)
    return dict(zip(whole.tasks, [path.format(row=row) for path in whole.records()], strict=True))


def _whole(settings: Settings, study: Study, protocol: Protocol) -> Pack:
    seeds = seeds_of(settings, study, protocol)
    return Pack(study, protocol, tasks_of(settings, study, protocol), seeds)


def cell_names(task: str, seeds: tuple[int, ...]) -> list[str]:
    """The names of a task's records: one of another seed than the first says which."""
    return [task, *(f"{task}.seed-{seed}" for seed in seeds[1:])]


def tasks_of(settings: Settings, study: Study, protocol: Protocol) -> tuple[str, ...]:
    """The tasks of a study that can be asked in this way.

    Training comes from the training split, and so do Harmony's examples: without one a task is
    measured directly only. A task of the suite that has none brings its examples along.
    """
    harmony = study == "harmony"
    names = settings.harmony.tasks if harmony else [one.task for one in settings.suite.tasks]
    if protocol == "direct" or (protocol == "few_shot" and not harmony):
        return tuple(names)
    return tuple(name for name in names if settings.task(name).training)


def seeds_of(settings: Settings, study: Study, protocol: Protocol) -> tuple[int, ...]:
    """Harmony may train with several; all else is asked once."""
    trained = study == "harmony" and protocol == "train_before_test"
    return (settings.harmony.seeds if trained else ()) or (settings.seed,)
