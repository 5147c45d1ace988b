"""What the rules of training are given: checkpoints, recipes, and the ways to their files."""

from workflow_scripts.settings.training import SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.requests import SamplesRequest, StageRequest

# Every checkpoint that is compared by its name in paths, and those of them that training makes.
COMPARED = {one.in_path: one for one in SETTINGS.compared_checkpoints()}
TRAINED = {one.in_path: one for one in SETTINGS.trained_checkpoints()}


def recipe_sources(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return [manifest_of("dataset", recipe.dataset)] if recipe.dataset else recipe.files


def get_trained_checkpoint(wildcards):
    return TRAINED[wildcards.checkpoint]


def get_base_manifest(wildcards):
    return manifest_of_checkpoint(get_trained_checkpoint(wildcards).before)


def get_stage_samples(wildcards):
    trained = get_trained_checkpoint(wildcards)
    recipe, _ = SETTINGS.stage_recipe(trained.stages[-1])
    return f"results/samples/{recipe}/{CheckpointId(trained.model).in_path}/samples.json"


def samples_request(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return SamplesRequest(
        hub=HUB, keys=SampleKeys.select_fields(recipe), max_length=recipe.max_length
    ).to_params()


def stage_request(wildcards):
    trained = get_trained_checkpoint(wildcards)
    name, recipe = SETTINGS.stage_recipe(trained.stages[-1])
    return StageRequest(
        id=str(trained),
        recipe=name,
        keys=TrainingKeys.select_fields(recipe),
        validation=recipe.validation,
        seed=SETTINGS.seed,
        device=SETTINGS.compute.device,
        attention=SETTINGS.stage_attention(trained),
        threads=SETTINGS.compute.threads,
    ).to_params()
