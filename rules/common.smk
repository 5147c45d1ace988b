"""Shared by all the studies: the checked settings, and the ways from a wildcard to a file."""

import re
import sys
from pathlib import Path

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import UNCHANGED, CheckpointId
from workflow_scripts.hub.lock import read_lock
from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.mmlu import DATASET as MMLU_DATASET
from workflow_scripts.settings.names import find_file
from workflow_scripts.settings.prompts.section import has_published_scores

try:
    SETTINGS = load_settings(config, Path(workflow.basedir))
    LOCK_FILE = find_file(SETTINGS.hub.lock, Path(workflow.basedir)) or Path(SETTINGS.hub.lock)
    read_lock(LOCK_FILE)  # what is wrong with it is said now, not by the first job
except UserError as error:
    # Not a WorkflowError: Snakemake would add a line of traceback to it.
    sys.exit("\n".join(["The configuration needs mending:", *error.problems]))

HUB = SETTINGS.hub.path
# The miniature world needs no GPU, and would only keep one from others.
GPUS_PER_JOB = int(SETTINGS.source == "huggingface" and SETTINGS.compute.device != "cpu")
# Under --sdm conda: the one with flash attention where there are GPUs to run it.
EVALUATION_ENVIRONMENT = f"../envs/{'gpu' if GPUS_PER_JOB else 'lm_eval'}.yaml"
LIGHTEVAL_ENVIRONMENT = f"../envs/{'gpu' if GPUS_PER_JOB else 'lighteval'}.yaml"
COMPUTE = SETTINGS.compute.model_dump(include={"device", "dtype", "attention"})
# The chunked checkpoints of the config, by their name in paths.
CHECKPOINTS = {
    CheckpointId.parse(name).in_path: checkpoint
    for name, checkpoint in SETTINGS.checkpoints().items()
}
MEASURED_DATASETS = (
    "Salesforce/wikitext",
    "Magpie-Align/Magpie-Qwen2-Pro-200K-English",
    "cais/mmlu",
)
# Each study enters its records here, and rules/paper.smk collects them.
RECORDS = {}
# Studies that measure times: never twice the same, so results/scores.parquet, which is, leaves them out.
TIMED = {"latency"}


def one_of(names):
    """A wildcard constraint that admits these names and nothing else."""
    return "|".join(re.escape(name) for name in names)


wildcard_constraints:
    org=r"[^/]+",
    name=r"[^/]+",
    model=one_of(CheckpointId(name).in_path for name in SETTINGS.models),
    task=one_of(SETTINGS.tasks),


def manifest_of(kind, repository):
    return f"{HUB}/{kind}s/{repository}/manifest.json"


def model_row(wildcards):
    return SETTINGS.model(CheckpointId.parse(wildcards.model).model)


def task_row(wildcards):
    return SETTINGS.task(wildcards.task)


def model_manifest(wildcards):
    return manifest_of("model", model_row(wildcards).model)


def dataset_manifest(wildcards):
    return manifest_of("dataset", task_row(wildcards).dataset)


def checkpoint_manifest(wildcards):
    """Of the hub's model where the checkpoint is just that, else of the one that is built from it."""
    wanted = CheckpointId.parse(wildcards.checkpoint)
    if wanted.plan in (None, UNCHANGED) and not wanted.stages:
        return manifest_of("model", wanted.model)
    return f"results/checkpoints/{wanted.in_path}/manifest.json"


def published_file(name):
    """One of the tables in resources/published: in the working directory, or beside the Snakefile."""
    path = f"resources/published/{name}.csv"
    return str(find_file(path, Path(workflow.basedir)) or path)


def all_hub_manifests(wildcards):
    """Every model and dataset that the studies of this config fetch."""
    if SETTINGS.source == "miniature":
        return []
    mmlu = [evaluated.model for evaluated in SETTINGS.mmlu_checkpoints()]
    models = dict.fromkeys([*SETTINGS.harmony.models, *SETTINGS.chunking.models, *mmlu])
    datasets = dict.fromkeys(SETTINGS.task(task).dataset for task in SETTINGS.harmony.tasks)
    datasets |= dict.fromkeys(MEASURED_DATASETS if SETTINGS.chunking.models else [])
    datasets |= dict.fromkeys([MMLU_DATASET] if mmlu else [])
    models |= dict.fromkeys(asked.model for asked in SETTINGS.prompt_checkpoints())
    datasets |= dict.fromkeys(
        name for run in SETTINGS.prompt_runs.values() for name in run.datasets
    )
    return [manifest_of("model", name) for name in models] + [
        manifest_of("dataset", name) for name in datasets
    ]


def model_revision(wildcards):
    """What the models table pins; None is the default branch."""
    row = SETTINGS.models.get(f"{wildcards.org}/{wildcards.name}")
    return row.revision if row else None


def direct_settings(wildcards):
    """Everything that a direct evaluation depends on, by name.

    One parameter and not many: Snakemake compares the parameters of two runs as a set of bare
    values, in which `shots` going from 0 to 1 vanishes beside another 0 and another 1.
    """
    row = task_row(wildcards)
    return {
        "task": row.harness_task,
        "primary_metric": row.full_metric,
        "shots": SETTINGS.harmony.shots,
        "max_items": SETTINGS.harmony.max_test_items,
        "seed": SETTINGS.seed,
        "threads": SETTINGS.compute.threads,
        "device": SETTINGS.compute.device,
        "dtype": SETTINGS.compute.dtype,
        "attention": SETTINGS.compute.attention,
        "batch_size": SETTINGS.compute.batch_size,
    }


def perplexity_settings(wildcards):
    row, measures = model_row(wildcards), SETTINGS.chunking.measures
    return {
        "plans": measures.perplexity_plans(row.model, row.layers),
        **measures.model_dump(include={"window", "stride", "responses"}),
        "difficulties": list(measures.difficulties),
        "compute": COMPUTE,
        "batch_size": SETTINGS.compute.batch_size,
        "threads": SETTINGS.compute.threads,
        "seed": SETTINGS.seed,
    }


def latency_settings(wildcards):
    row, measures = model_row(wildcards), SETTINGS.chunking.measures
    return {
        "plans": measures.latency_plans(row.model, row.layers),
        "batch_sizes": list(measures.batch_sizes),
        **measures.model_dump(include={"questions", "new_tokens", "repeats"}),
        "compute": COMPUTE,
        "threads": SETTINGS.compute.threads,
        "seed": SETTINGS.seed,
    }


def prompt_datasets(wildcards):
    names = SETTINGS.prompt_runs[wildcards.run].datasets
    return [manifest_of("dataset", name) for name in names]


def prompt_settings(wildcards):
    """All that the outputs of a prompt run depend on; how they are read is not."""
    return {
        "run": wildcards.run,
        "asking": SETTINGS.prompt_runs[wildcards.run].asking(),
        "max_items_per_subject": SETTINGS.prompts.max_items_per_subject,
        "seed": SETTINGS.seed,
        "threads": SETTINGS.compute.threads,
        **COMPUTE,
    }


def reading_settings(wildcards):
    return {"reading": SETTINGS.prompt_runs[wildcards.run].reading()}


# What the tables say of the models and runs.
PROMPT_ROWS = [
    {"id": str(asked), "published": has_published_scores(asked, SETTINGS.source)}
    for asked in SETTINGS.prompt_checkpoints()
]


def rows_of_prompt_runs():
    fields = {"changed", "after", "published"}
    return [
        {"name": name} | run.model_dump(include=fields)
        for name, run in SETTINGS.prompt_runs.items()
    ]


def explained_model(wildcards):
    """The first model of the prompt runs; of a chunked one the base, whose tokenizer it has."""
    if not SETTINGS.prompt_runs:
        raise UserError(
            "prompts.models is an empty list; expected a model, whose tokenizer explain_prompt uses."
        )
    return manifest_of("model", SETTINGS.prompt_checkpoints()[0].model)


def explained_datasets(wildcards):
    name, _, _ = SETTINGS.explained()
    return [manifest_of("dataset", dataset) for dataset in SETTINGS.prompt_runs[name].datasets]


def explain_settings(wildcards):
    name, subject, number = SETTINGS.explained()
    return {
        "run": name,
        "asking": SETTINGS.prompt_runs[name].asking(),
        "subject": subject,
        "number": number,
    }


def memory_mb(name, attempt):
    """Twice the weights in four bytes each, and what the libraries take; more when tried again."""
    return int((3000 + SETTINGS.model(name).parameters * 8 / 1e6) * attempt)


def evaluation_memory_mb(wildcards, attempt):
    return memory_mb(model_row(wildcards).model, attempt)


def checkpoint_memory_mb(wildcards, attempt):
    """As above, with room for the adapters and the aggregation of a chunked model."""
    parameters = SETTINGS.model(CheckpointId.parse(wildcards.checkpoint).model).parameters
    return int((4000 + parameters * 12 / 1e6) * attempt)


def rows_of_models(names):
    return [SETTINGS.model(name).model_dump(include={"model", "parameters"}) for name in names]


def rows_of_tasks(names):
    fields = {"task", "display_name", "category"}
    return [
        SETTINGS.task(name).model_dump(include=fields) | {"metric": SETTINGS.task(name).full_metric}
        for name in names
    ]
