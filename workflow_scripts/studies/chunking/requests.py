"""What the tables of chunked models are asked: the models and checkpoints that the config names."""

from dataclasses import replace

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.evaluation.requests import searched_by
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_search import PlanSearch
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.studies.training.requests import measured_texts


class MeasuredModels(StepRequest):
    """Whose untrained plans were measured, and on which texts."""

    models: tuple[str, ...]
    texts: tuple[str, ...]


class SearchedModels(StepRequest):
    """Whose plans were searched: what the table needs to propose the same plans from the record."""

    models: tuple[str, ...]
    search: PlanSearch
    seed: int


class SizedCheckpoint(StepRequest):
    id: str
    parameters: int  # of its base, as are the layers
    layers: int


class SizedCheckpoints(StepRequest):
    checkpoints: tuple[SizedCheckpoint, ...]


class AblatedCheckpoint(StepRequest):
    id: str
    against: str  # the checkpoint that it is compared with


class AblatedCheckpoints(StepRequest):
    checkpoints: tuple[AblatedCheckpoint, ...]
    texts: tuple[str, ...]


def measured_models(settings: Settings) -> MeasuredModels:
    written = ["written"] if settings.chunking.measures.written_tokens else []
    texts = [*measured_texts(settings), *written]
    return MeasuredModels(models=settings.chunking.models, texts=texts)


def timed_models(settings: Settings) -> MeasuredModels:
    return MeasuredModels(models=settings.chunking.timed_models, texts=measured_texts(settings))


def searched_models(settings: Settings) -> SearchedModels:
    return SearchedModels(
        models=settings.chunking.searched_models, search=searched_by(settings), seed=settings.seed
    )


def sized_checkpoints(settings: Settings) -> SizedCheckpoints:
    return SizedCheckpoints(
        checkpoints=[
            {
                "id": str(one),
                **settings.model(one.model).model_dump(include={"parameters", "layers"}),
            }
            for one in settings.staged_checkpoints()
        ]
    )


def ablated_checkpoints(settings: Settings) -> AblatedCheckpoints:
    """Each with the one that it is held against: in the same layers and stage, the form that is usual.

    Where the config has no usual one of these layers, the first that it names stands for it. The usual
    form itself is held against the model as it is.
    """
    staged = [one for one in settings.staged_checkpoints() if one.variant]
    of_layers: dict[CheckpointId, list[CheckpointId]] = {}
    for one in staged:
        of_layers.setdefault(replace(one.layout, stages=one.stages), []).append(one)
    request = []
    for one in staged:
        layers = replace(one.layout, stages=one.stages)
        alike = of_layers[layers]
        usual = layers if layers in alike else alike[0]
        against = CheckpointId(one.model) if one == usual else usual
        request.append({"id": str(one), "against": str(against)})
    return AblatedCheckpoints(checkpoints=request, texts=measured_texts(settings))
