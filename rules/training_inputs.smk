"""Build the inputs and parameters of the training rules: checkpoints, recipes and their files."""

from workflow_scripts.settings.training import SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.requests import SamplesRequest, StageRequest

# All compared checkpoints, and the trained checkpoints among them, keyed by their names in paths.
COMPARED = {id.in_path: id for id in SETTINGS.list_compared_checkpoints()}
TRAINED = {id.in_path: id for id in SETTINGS.list_trained_checkpoints()}


def list_recipe_sources(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return [get_manifest("dataset", recipe.dataset)] if recipe.dataset else recipe.files


def get_base_manifest(wildcards):
    return locate_checkpoint(TRAINED[wildcards.checkpoint].before)


def get_stage_samples(wildcards):
    trained = TRAINED[wildcards.checkpoint]
    recipe, _ = SETTINGS.get_stage_recipe(trained.stages[-1])
    return f"results/samples/{recipe}/{CheckpointId(trained.model).in_path}/samples.json"


def build_samples_request(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return SamplesRequest(
        hub=HUB, keys=SampleKeys.select_fields(recipe), max_length=recipe.max_length
    ).to_params()


def build_stage_request(wildcards):
    trained = TRAINED[wildcards.checkpoint]
    name, recipe = SETTINGS.get_stage_recipe(trained.stages[-1])
    return StageRequest(
        id=str(trained),
        recipe=name,
        keys=TrainingKeys.select_fields(recipe),
        validation=recipe.validation,
        seed=SETTINGS.seed,
        device=SETTINGS.compute.device,
        attention=SETTINGS.get_stage_attention(trained),
        threads=SETTINGS.compute.threads,
    ).to_params()
