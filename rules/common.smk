"""Load the checked settings, and define the input functions that all studies share."""

import re
from pathlib import Path

from workflow_scripts.bridge.startup import load_checked_settings, exit_on_config_error
from workflow_scripts.bridge.resources import gpu_request, resources
from workflow_scripts.bridge.snakemake_contract import is_main_process
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED, CheckpointId, format_path_names
from workflow_scripts.hub.lock import read_lock
from workflow_scripts.hub.hub_lookup import look_up_row
from workflow_scripts.planning.estimates import Planner
from workflow_scripts.settings.mmlu import DATASET as MMLU_DATASET
from workflow_scripts.settings.names import locate_file
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.settings.prompts.spec import DATASETS as QUESTIONS
from workflow_scripts.studies.records import TIMED, list_import_folders, list_records

with exit_on_config_error():
    SETTINGS = load_checked_settings(workflow, config, look_up_row)
    LOCK_FILE = locate_file(SETTINGS.hub.lock, Path(workflow.basedir))
    read_lock(LOCK_FILE)  # report its errors before any job starts
    GPU_REQUEST = gpu_request(workflow)
    PLANNER = Planner(SETTINGS)

HUB = SETTINGS.hub.path
ON_GPUS = SETTINGS.on_gpus
# The environments of --sdm conda; with GPUs, both use the GPU environment.
EVALUATION_ENVIRONMENT = f"../envs/{'gpu' if ON_GPUS else 'lm_eval'}.yaml"
LIGHTEVAL_ENVIRONMENT = f"../envs/{'gpu' if ON_GPUS else 'lighteval'}.yaml"
# The chunked checkpoints of the config, keyed by their name in paths.
CHECKPOINTS = {
    CheckpointId.parse(name).in_path: checkpoint
    for name, checkpoint in SETTINGS.checkpoints().items()
}
# The metric that tables report for each task; imported scores are checked against it.
METRICS_OF_TASKS = {name: row.full_metric for name, row in SETTINGS.tasks.items()}
RECORDS = list_records(SETTINGS)


def match_any(names):
    """Return a wildcard constraint that matches only these names."""
    return "|".join(map(re.escape, names)) or "(?!)"  # without names, match nothing


wildcard_constraints:
    org=r"[^/]+",
    name=r"[^/]+",
    model=match_any(CheckpointId(name).in_path for name in SETTINGS.models),


def get_manifest(kind, repository):
    return f"{HUB}/{kind}s/{repository}/manifest.json"


def get_model_row(wildcards):
    return SETTINGS.models[CheckpointId.parse(wildcards.model).model]


def get_model_manifest(wildcards):
    return get_manifest("model", get_model_row(wildcards).model)


def get_checkpoint_manifest(wildcards):
    return get_measured_manifest(CheckpointId.parse(wildcards.checkpoint))


def get_measured_manifest(wanted):
    """Return the manifest of a checkpoint, or of the API server that runs it."""
    if str(wanted) in SETTINGS.served:
        return f"{HUB}/served/{wanted.model}/manifest.json"
    return locate_checkpoint(wanted)


def get_unchunked_manifest(wildcards):
    """Return the manifest of the base model of a chunked checkpoint."""
    return get_manifest("model", CheckpointId.parse(wildcards.checkpoint).model)


def locate_checkpoint(wanted):
    """Return the hub manifest of an unchanged model, else the manifest of the built checkpoint."""
    if wanted.plan in (None, UNCHANGED) and not wanted.stages:
        return get_manifest("model", wanted.model)
    return f"results/checkpoints/{wanted.in_path}/manifest.json"


def list_hub_manifests(wildcards):
    """List the manifests of every model and dataset that the studies of this config fetch."""
    if SETTINGS.source == "miniature":
        return []
    mmlu, timed = SETTINGS.list_mmlu_checkpoints(), SETTINGS.chunking.timed_models
    harmony = [CheckpointId.parse(name) for name in SETTINGS.harmony.models]
    asked = [
        *harmony,
        *mmlu,
        *SETTINGS.list_compared_checkpoints(),
        *SETTINGS.list_prompt_checkpoints(),
    ]
    models = dict.fromkeys([*(checkpoint.model for checkpoint in asked), *timed])
    tasks = list(SETTINGS.harmony.tasks) if harmony else []
    tasks += [entry.task for entry in SETTINGS.suite.tasks] if SETTINGS.requests else []
    datasets = [SETTINGS.tasks[task].dataset for task in tasks]
    datasets += MEASURED_TEXTS.values() if SETTINGS.list_compared_checkpoints() else []
    datasets += [QUESTIONS["mmlu"]] * bool(timed) + [MMLU_DATASET] * bool(mmlu)
    stages = {checkpoint.stages[-1] for checkpoint in SETTINGS.list_trained_checkpoints()}
    datasets += filter(
        None, (SETTINGS.get_stage_recipe(stage)[1].dataset for stage in sorted(stages))
    )
    datasets += [name for run in SETTINGS.prompt_runs.values() for name in run.datasets]
    return [
        *(get_manifest("model", name) for name in models if name not in SETTINGS.served),
        *(get_manifest("dataset", name) for name in dict.fromkeys(datasets)),
    ]


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


def get_retries(number):
    """Return the number of retries: 0 inside a job, where a retry would get the same memory and time limit."""
    return number if is_main_process(workflow) else 0


# A killed or signalled job resumes where it stopped. The last try only records that all earlier tries were killed,
# so that one cell that always fails does not prevent the tables of its study.
CELL_RETRIES = {"direct": 3, "few_shot": 3, "train_before_test": 5}


def count_remaining_tries(protocol):
    return lambda wildcards, attempt: CELL_RETRIES[protocol] + 1 - attempt


def plan_resources(rule, need, gpu=True):
    """Return a rule's resources, computed from the estimate of each job (workflow_scripts/planning)."""
    spelling = GPU_REQUEST if gpu and ON_GPUS else None
    return resources(rule, need, SETTINGS.cluster, spelling)


def get_estimate(estimate, wildcard="checkpoint"):
    """Return a function that estimates a job from one of its wildcards."""
    return lambda wildcards: estimate(wildcards[wildcard])


def estimate_download(wildcards):
    return PLANNER.download(f"{wildcards.org}/{wildcards.name.partition('@')[0]}")


def get_served_source(wildcards):
    """Return the metadata of a model on the hub, or the manifest of a local model."""
    name = f"{wildcards.org}/{wildcards.name}"
    if SETTINGS.models[name].source == "huggingface":
        return f"{HUB}/submitted/{name}@default/metadata.json"
    return get_manifest("model", name)


def list_prompt_datasets(wildcards):
    return [get_manifest("dataset", name) for name in SETTINGS.prompt_runs[wildcards.run].datasets]


def get_explained_model(wildcards):
    """Return the manifest of the first model of the prompt runs; a chunked model's base has its tokenizer."""
    if not SETTINGS.prompt_runs:
        raise UserError(
            "prompts.models is an empty list; expected a model, whose tokenizer explain_prompt uses."
        )
    return get_measured_manifest(CheckpointId(SETTINGS.list_prompt_checkpoints()[0].model))


def list_explained_datasets(wildcards):
    name, _, _ = SETTINGS.explained()
    return [get_manifest("dataset", dataset) for dataset in SETTINGS.prompt_runs[name].datasets]


def get_figure_files(name, category):
    """Return the PDF and the PNG of a figure; the PNG is shown in Snakemake's report."""
    png, caption = f"results/figures/{name}.png", f"../docs/captions/{name}.rst"
    return [f"results/figures/{name}.pdf", report(png, caption=caption, category=category)]


def list_prose_files(ending):
    """List the hand-written prose files with a file extension such as .md.j2."""
    folder = Path(SETTINGS.workflow_folder)
    return sorted(map(str, folder.glob(f"workflow_scripts/*/*/*{ending}")))


def list_report_files(outputs):
    """List the Markdown tables and PNG figures among the outputs of a rule."""
    return [str(path) for path in outputs if path.endswith((".md", ".png"))]


# These files define inputs and parameters for the rules; after them, rule files may be included in any order.
include: "chunking_inputs.smk"
include: "training_inputs.smk"
include: "harmony_inputs.smk"
include: "scores.smk"
