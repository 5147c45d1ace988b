"""What the tables of chunked models are asked: the models and checkpoints that the config names."""

from dataclasses import replace

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.mmlu import published_table
from workflow_scripts.settings.request import StepRequest


class MeasuredModels(StepRequest):
    """Whose untrained plans were measured, and on which texts."""

    models: tuple[str, ...]
    texts: tuple[str, ...]


class StagedCheckpoints(StepRequest):
    """The checkpoints of training, in the order of the table, and the texts that they read."""

    checkpoints: tuple[str, ...]
    texts: tuple[str, ...]


class SizedCheckpoint(StepRequest):
    id: str
    parameters: int  # of its base, as are the layers
    layers: int


class SizedCheckpoints(StepRequest):
    checkpoints: tuple[SizedCheckpoint, ...]


class PublishedCheckpoint(StepRequest):
    id: str
    published: str | None  # the table in resources/published that is of the same variant


class MmluCheckpoints(StepRequest):
    checkpoints: tuple[PublishedCheckpoint, ...]

    @property
    def published(self) -> dict[str, str]:
        """The checkpoint of each published table."""
        return {one.published: one.id for one in self.checkpoints if one.published}


class AblatedCheckpoint(StepRequest):
    id: str
    against: str  # the checkpoint that it is compared with


class AblatedCheckpoints(StepRequest):
    checkpoints: tuple[AblatedCheckpoint, ...]
    texts: tuple[str, ...]


def measured_models(settings: Settings) -> MeasuredModels:
    return MeasuredModels(models=settings.chunking.models, texts=_texts(settings))


def timed_models(settings: Settings) -> MeasuredModels:
    return MeasuredModels(models=settings.chunking.timed_models, texts=_texts(settings))


def staged_checkpoints(settings: Settings) -> StagedCheckpoints:
    names = [str(one) for one in settings.staged_checkpoints()]
    return StagedCheckpoints(checkpoints=names, texts=_texts(settings))


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
    return AblatedCheckpoints(checkpoints=request, texts=_texts(settings))


def mmlu_checkpoints(settings: Settings) -> MmluCheckpoints:
    return MmluCheckpoints(
        checkpoints=[
            {"id": str(one), "published": published_table(one, settings.source)}
            for one in settings.mmlu_checkpoints()
        ]
    )


def _texts(settings: Settings) -> list[str]:
    """Wikitext has no difficulty; of Magpie each is a text of its own."""
    difficulties = settings.chunking.measures.difficulties
    return sorted([*(f"magpie ({difficulty})" for difficulty in difficulties), "wikitext"])
