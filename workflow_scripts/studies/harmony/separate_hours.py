"""The hours that scores of two models take, in parts that more items, trainings and tasks multiply."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.needs import Need, Planner
from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.ranking.requests import GridRequest


class TaskHours(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    testing: float
    training: float  # once, with the choice of the epoch


class ModelHours(BaseModel):
    """Of one model under one protocol, as `snakemake plan` reckons."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: float
    tasks: dict[str, TaskHours]

    def of(
        self, tasks: Iterable[str], *, items: float = 1, trainings: float = 1, times: float = 1
    ) -> float:
        """With `items` times as many items, so many trainings, and `times` as many tasks as these."""
        named = [self.tasks[task] for task in tasks]
        once = sum(one.training + items * one.testing for one in named)
        return self.start + times * trainings * once


def planners(settings: Settings, models: Iterable[str]) -> tuple[str, dict[str, Planner]]:
    """What the hours are of, and who plans them by model; nobody where the size of one is not known.

    Under a config of the miniature world real models are planned on its `cluster.gpu`.
    """
    found: dict[str, Settings] = {}
    for name in models:
        try:
            row = settings.models[CheckpointId.parse(name).model]
        except (KeyError, UserError):  # in no table, or no name that a model of ours could have
            return "hours", {}
        changes: dict[str, object] = {"harmony": settings.harmony.model_copy(update={"seeds": ()})}
        if row.source == "huggingface" and settings.source == "miniature":
            compute = settings.compute.model_copy(update={"device": "cuda"})
            changes |= {"source": "huggingface", "compute": compute}
        found[name] = settings.model_copy(update=changes)
    on_gpus = {one.on_gpus for one in found.values()}
    if len(on_gpus) > 1:
        return "hours", {}
    unit = f"GPU hours ({settings.cluster.gpu})" if on_gpus == {True} else "CPU hours"
    return unit, {name: Planner(one) for name, one in found.items()}


def grid_hours(
    asked: GridRequest, of_models: Mapping[str, Planner], settings: Settings
) -> dict[str, dict[str, ModelHours]]:
    """By protocol and model, with one training each."""
    return {
        key: {
            name: model_hours(
                planner,
                name,
                asked.names,
                trains=protocol.after_training,
                shots=settings.harmony.shots if key == "few_shot" else 0,
                threads=settings.compute.threads,
            )
            for name, planner in of_models.items()
        }
        for key, protocol in asked.grid.protocols.items()
    }


def model_hours(
    planner: Planner, name: str, tasks: Iterable[str], *, trains: bool, shots: int, threads: int
) -> ModelHours:
    """On GPUs, or of so many threads where none are asked for."""

    def spent(need: Need) -> float:
        return need.seconds * (need.gpus or threads) / 3_600

    start, found = spent(planner.evaluation(name, ())), {}
    for task in tasks:
        test = planner.evaluation(name, (task,), shots)
        whole = planner.training_before_test(name, (task,)) if trains else test
        training = max(0.0, spent(whole) - spent(test))
        found[task] = TaskHours(testing=spent(test) - start, training=training)
    return ModelHours(start=start, tasks=found)
