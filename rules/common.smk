"""Load the checked settings, and define the input functions that all studies share."""

import re
from pathlib import Path

from workflow_scripts.bridge.startup import load_checked_settings, exit_on_config_error
from workflow_scripts.bridge.resources import gpu_request, resources
from workflow_scripts.bridge.snakemake_contract import is_main_process
from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.ids import UNCHANGED, CheckpointId, format_path_names
from workflow_scripts.grid.requests import find_explained_task
from workflow_scripts.hub.lock import read_lock
from workflow_scripts.hub.hub_lookup import look_up_row
from workflow_scripts.planning.estimates import Planner
from workflow_scripts.settings.mmlu import DATASET as MMLU_DATASET
from workflow_scripts.settings.names import locate_file
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.settings.prompts.spec import DATASETS as QUESTIONS
from workflow_scripts.studies.records import TIMED, list_records

with exit_on_config_error():
    SETTINGS = load_checked_settings(workflow, config, look_up_row)
    LOCK_FILE = locate_file(SETTINGS.hub.lock)
    read_lock(LOCK_FILE)  # report its errors before any job starts
    GPU_REQUEST = gpu_request(workflow) if SETTINGS.on_gpus else None
    PLANNER = Planner(SETTINGS)

HUB = SETTINGS.hub.path
# The environments of --sdm conda; with GPUs, both use the GPU environment.
EVALUATION_ENVIRONMENT = f"../envs/{'gpu' if SETTINGS.on_gpus else 'lm_eval'}.yaml"
LIGHTEVAL_ENVIRONMENT = f"../envs/{'gpu' if SETTINGS.on_gpus else 'lighteval'}.yaml"
# Checkpoints by their name in paths: the chunked ones before training, all trained ones, all measured ones.
CHECKPOINTS = {
    CheckpointId.parse(name).in_path: row for name, row in SETTINGS.checkpoints().items()
}
TRAINED = {id.in_path: id for id in SETTINGS.list_compared_checkpoints() if id.stages}
MEASURED = {
    id.in_path: id
    for id in (
        *map(CheckpointId.parse, SETTINGS.harmony.models),
        *SETTINGS.list_mmlu_checkpoints(),
        *SETTINGS.list_compared_checkpoints(),
        *SETTINGS.list_prompt_checkpoints(),
    )
}
# The metric that tables report for each task; imported scores are checked against it.
METRICS_OF_TASKS = {name: row.full_metric for name, row in SETTINGS.tasks.items()}
RECORDS = list_records(SETTINGS)
# A killed or signalled job resumes where it stopped. Inside a job, another try would get the same memory and time.
TRIES = 6
RETRIES = TRIES - 1 if is_main_process(workflow) else 0


def match_any(names):
    """Return a wildcard constraint that matches only these names."""
    return "|".join(map(re.escape, names)) or "(?!)"  # without names, match nothing


wildcard_constraints:
    org=r"[^/]+",
    name=r"[^/]+",
    model=match_any(format_path_names(SETTINGS.models)),
    checkpoint=r"[^/]+",  # not all names, which every output pattern would compile; MEASURED has them
    recipe=match_any(SETTINGS.training.recipes),
    run=match_any(SETTINGS.prompt_runs),
    study=match_any(RECORDS),
    row=match_any(SETTINGS.suite_rows),
    corpus=match_any(SETTINGS.harmony.corpora),


def get_manifest(kind, repository):
    return f"{HUB}/{kind}s/{repository}/manifest.json"


def get_model_manifest(wildcards):
    """Return the manifest of a model, or of the base model of a chunked checkpoint."""
    id = CheckpointId.parse(wildcards.get("model") or wildcards.checkpoint)
    return get_manifest("model", id.model)


def get_checkpoint_manifest(wildcards):
    if wildcards.checkpoint not in MEASURED:
        near = format_suggestion(wildcards.checkpoint, MEASURED)
        raise UserError(f"{wildcards.checkpoint} is no checkpoint that this config measures.{near}")
    return get_measured_manifest(MEASURED[wildcards.checkpoint])


def get_measured_manifest(wanted):
    """Return the manifest of a checkpoint, or of the API server that runs it."""
    if str(wanted) in SETTINGS.served:
        return f"{HUB}/served/{wanted.model}/manifest.json"
    return locate_checkpoint(wanted)


def locate_checkpoint(wanted):
    """Return the hub manifest of an unchanged model, else the manifest of the built checkpoint."""
    if wanted.plan in (None, UNCHANGED) and not wanted.stages:
        return get_manifest("model", wanted.model)
    return f"results/checkpoints/{wanted.in_path}/manifest.json"


def list_hub_manifests(wildcards):
    """List the manifests of every model and dataset that the studies of this config fetch."""
    if SETTINGS.source == "miniature":
        return []
    tasks = list(SETTINGS.harmony.tasks) if SETTINGS.harmony.models else []
    tasks += [entry.task for entry in SETTINGS.suite.tasks] if SETTINGS.requests else []
    recipes = [SETTINGS.get_stage_recipe(id.stages[-1])[1] for id in TRAINED.values()]
    timed = SETTINGS.chunking.timed_models
    datasets = [
        *(SETTINGS.tasks[task].dataset for task in tasks),
        *(MEASURED_TEXTS.values() if "training" in RECORDS or "chunking" in RECORDS else []),
        *([QUESTIONS["mmlu"]] if timed else []),
        *([MMLU_DATASET] if "mmlu" in RECORDS else []),
        *(recipe.dataset for recipe in recipes if recipe.dataset),
        *(name for run in SETTINGS.prompt_runs.values() for name in run.datasets),
    ]
    models = {*(id.model for id in MEASURED.values()), *timed} - {*SETTINGS.served}
    manifests = [get_manifest("model", name) for name in sorted(models)]
    return manifests + [get_manifest("dataset", name) for name in dict.fromkeys(datasets)]


def list_study_records(study, wildcards):
    """List the records of a study; the suite's depend on the check of its requests."""
    asks = study == "suite" and study in RECORDS
    return list_suite_records(wildcards) if asks else RECORDS.get(study, [])


def list_all_records(wildcards):
    return [path for study in RECORDS for path in list_study_records(study, wildcards)]


def get_model_revision(wildcards):
    """Return the revision that the models table pins, or None for the default branch."""
    row = SETTINGS.models.get(f"{wildcards.org}/{wildcards.name}")
    return row.revision if row else None


def plan_resources(rule, estimate, gpu=True):
    """Return a rule's resources, computed from the estimate of each job (workflow_scripts/planning)."""
    return resources(rule, estimate, SETTINGS.cluster, GPU_REQUEST if gpu else None)


def get_served_source(wildcards):
    """Return the metadata of a model on the hub, or the manifest of a local model."""
    name = f"{wildcards.org}/{wildcards.name}"
    if SETTINGS.models[name].source == "huggingface":
        return f"{HUB}/submitted/{name}@default/metadata.json"
    return get_manifest("model", name)


def make_measure_params(build_request):
    """Return a params function for measuring a model in its chunk plans."""
    return lambda wildcards: build_request(
        SETTINGS, CheckpointId.parse(wildcards.model).model
    ).to_params()


def list_recipe_sources(wildcards):
    recipe = SETTINGS.training.recipes[wildcards.recipe]
    return [get_manifest("dataset", recipe.dataset)] if recipe.dataset else recipe.files


def get_stage_samples(wildcards):
    trained = TRAINED[wildcards.checkpoint]
    recipe, _ = SETTINGS.get_stage_recipe(trained.stages[-1])
    return f"results/samples/{recipe}/{CheckpointId(trained.model).in_path}/samples.json"


def list_prompt_datasets(wildcards):
    return [get_manifest("dataset", name) for name in SETTINGS.prompt_runs[wildcards.run].datasets]


def list_explained_inputs(wildcards):
    """Return a prompt run's datasets, and a model; a chunked model's base has its tokenizer."""
    if not SETTINGS.prompts.models:
        raise UserError(
            "prompts.models is an empty list; expected a model, whose tokenizer is used."
        )
    name, _, _ = SETTINGS.explained()
    base = CheckpointId(SETTINGS.list_prompt_checkpoints()[0].model)
    data = [get_manifest("dataset", dataset) for dataset in SETTINGS.prompt_runs[name].datasets]
    return {"model": get_measured_manifest(base), "data": data}


def list_explained_models(wildcards):
    """List the manifests of the ranked models; chunked models have the tokenizers of their bases."""
    if not SETTINGS.harmony.models:
        raise UserError(
            "harmony.models is an empty list; expected models, whose tokenizers explain_training uses."
        )
    bases = dict.fromkeys(CheckpointId.parse(name).model for name in SETTINGS.harmony.models)
    return [get_measured_manifest(CheckpointId(name)) for name in bases]


def list_explained_data(wildcards):
    task, _ = find_explained_task(SETTINGS)
    return [get_manifest("dataset", SETTINGS.tasks[task].dataset)]


def get_figure_files(name, category):
    """Return the PDF and the PNG of a figure; the PNG is shown in Snakemake's report. Grids share a caption."""
    caption = f"../docs/captions/{name.removeprefix('{grid}_')}.rst"
    png = report(f"results/figures/{name}.png", caption=caption, category=category)
    return [f"results/figures/{name}.pdf", png]


def list_tables(*names):
    """List the CSV files of these tables, without tables that no chapter has."""
    files = [f"results/tables/{name}.csv" for name in names]
    return [file for file in files if any(file in chapter for chapter in CHAPTERS.values())]


def list_files(pattern):
    return sorted(map(str, Path(workflow.basedir).glob(pattern)))
