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


def recipe_sources(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return [manifest_of("dataset", recipe.dataset)] if recipe.dataset else recipe.files


def stages_before(trained):
    """Those that the job itself does not make."""
    own = [manifest_of_checkpoint(one) for one in trained]
    needed = dict.fromkeys(manifest_of_checkpoint(one.before) for one in trained)
    return [manifest for manifest in needed if manifest not in own]


def samples_of_stages(trained):
    return list(dict.fromkeys(stage_samples(one) for one in trained))


def stage_samples(trained):
    recipe, _ = SETTINGS.stage_recipe(trained.stages[-1])
    return f"results/samples/{recipe}/{CheckpointId(trained.model).in_path}/samples.json"


def stages(trained):
    return [
        {
            "before": manifest_of_checkpoint(one.before),
            "samples": stage_samples(one),
            "request": stage_request(one),
        }
        for one in trained
    ]


def samples_request(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return SamplesRequest(
        hub=HUB, keys=SampleKeys.part_of(recipe), max_length=recipe.max_length
    ).as_params()


def stage_request(trained):
    name, recipe = SETTINGS.stage_recipe(trained.stages[-1])
    return StageRequest(
        id=str(trained),
        recipe=name,
        keys=TrainingKeys.part_of(recipe),
        validation=recipe.validation,
        seed=SETTINGS.seed,
        device=SETTINGS.compute.device,
        attention=SETTINGS.compute.attention,
        threads=SETTINGS.compute.threads,
    ).as_params()


stage_need = checkpoints_in_a_job(
    TRAINED.values(), lambda trained: PLANNER.stages(*(one.in_path for one in trained))
)
stage_perplexity_need = checkpoints_in_a_job(
    STAGED.values(), lambda asked: PLANNER.stage_perplexity(*(one.in_path for one in asked))
)
