"""Build the parameters of the jobs that tokenise a recipe's data and train one stage."""

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.training import SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys


class SamplesRequest(JobParams):
    """Parameters of the tokenisation of a recipe's data, which runs once for all checkpoints of a model."""

    hub: str
    keys: SampleKeys
    max_length: int


class StageRequest(JobParams):
    """Parameters of one training stage of a checkpoint; only those that affect its outcome."""

    id: str
    recipe: str
    keys: TrainingKeys
    validation: float
    seed: int
    device: str
    attention: str
    threads: int


def build_samples_request(settings: Settings, recipe: str) -> SamplesRequest:
    keys = settings.training.recipes[recipe]
    return SamplesRequest(
        hub=settings.hub.path, keys=SampleKeys.select_fields(keys), max_length=keys.max_length
    )


def build_stage_request(settings: Settings, checkpoint: str) -> StageRequest:
    """Build the request of a checkpoint, by its id or its name in paths."""
    trained = CheckpointId.parse(checkpoint)
    name, recipe = settings.get_stage_recipe(trained.stages[-1])
    return StageRequest(
        id=str(trained),
        recipe=name,
        keys=TrainingKeys.select_fields(recipe),
        validation=recipe.validation,
        seed=settings.seed,
        device=settings.compute.device,
        attention=settings.get_stage_attention(trained),
        threads=settings.compute.threads,
    )
