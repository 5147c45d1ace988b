"""What the tables of chunked models are asked: the models and checkpoints that the config names."""

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.studies.training.requests import measured_texts


class MeasuredModels(StepRequest):
    """Whose untrained plans were measured, and on which texts."""

    models: tuple[str, ...]
    texts: tuple[str, ...]


class SizedCheckpoint(StepRequest):
    id: str
    parameters: int  # of its base, as are the layers
    layers: int


class SizedCheckpoints(StepRequest):
    checkpoints: tuple[SizedCheckpoint, ...]


def measured_models(settings: Settings) -> MeasuredModels:
    written = ["written"] if settings.chunking.measures.written_tokens else []
    texts = [*measured_texts(settings), *written]
    return MeasuredModels(models=settings.chunking.models, texts=texts)


def timed_models(settings: Settings) -> MeasuredModels:
    return MeasuredModels(models=settings.chunking.timed_models, texts=measured_texts(settings))


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
