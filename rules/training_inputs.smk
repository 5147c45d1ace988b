"""What the rules of training are given: checkpoints, recipes, and the ways to their files."""

from workflow_scripts.settings.training import (
    SampleKeys,
    SamplesRequest,
    StageRequest,
    TrainingKeys,
)

# Every checkpoint by its name in paths, and those of them that training makes.
STAGED = {one.in_path: one for one in SETTINGS.staged_checkpoints()}
TRAINED = {one.in_path: one for one in SETTINGS.staged_checkpoints() if one.stages}


def stage_recipe(wildcards):
    """Its name, and the recipe."""
    return SETTINGS.stage_recipe(TRAINED[wildcards.checkpoint].stages[-1])


def recipe_sources(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return [manifest_of("dataset", recipe.dataset)] if recipe.dataset else recipe.files


def stage_before(wildcards):
    return manifest_of_checkpoint(TRAINED[wildcards.checkpoint].before)


def stage_samples(wildcards):
    model = CheckpointId(TRAINED[wildcards.checkpoint].model).in_path
    recipe, _ = stage_recipe(wildcards)
    return f"results/samples/{recipe}/{model}/samples.json"


def samples_request(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return SamplesRequest(
        hub=HUB, keys=SampleKeys.part_of(recipe), max_length=recipe.max_length
    ).as_params()


def stage_request(wildcards):
    name, recipe = stage_recipe(wildcards)
    return StageRequest(
        id=str(TRAINED[wildcards.checkpoint]),
        recipe=name,
        keys=TrainingKeys.part_of(recipe),
        validation=recipe.validation,
        seed=SETTINGS.seed,
        device=SETTINGS.compute.device,
        attention=SETTINGS.compute.attention,
        threads=SETTINGS.compute.threads,
    ).as_params()


stage_perplexity_need = measured_in_a_job(
    STAGED.values(), lambda asked: PLANNER.stage_perplexity(*(one.in_path for one in asked))
)
