"""What the rules of the prompt runs are given: runs, their datasets, and what a question is shown of."""

from workflow_scripts.evaluation.prompts.requests import (
    explain_request,
    prompt_request,
    reading_request,
)


def prompt_datasets(wildcards):
    names = SETTINGS.prompt_runs[wildcards.run].datasets
    return [manifest_of("dataset", name) for name in names]


def prompt_need(wildcards):
    return PLANNER.prompt_run(wildcards.checkpoint, wildcards.run)


def prompt_request_of(wildcards):
    return prompt_request(SETTINGS, wildcards.run).as_params()


def reading_request_of(wildcards):
    return reading_request(SETTINGS, wildcards.run).as_params()


def explained_model(wildcards):
    """The first model of the prompt runs; of a chunked one the base, whose tokenizer it has."""
    if not SETTINGS.prompt_runs:
        raise UserError(
            "prompts.models is an empty list; expected a model, whose tokenizer explain_prompt uses."
        )
    return measured_manifest(CheckpointId(SETTINGS.prompt_checkpoints()[0].model))


def explained_datasets(wildcards):
    name, _, _ = SETTINGS.explained()
    return [manifest_of("dataset", dataset) for dataset in SETTINGS.prompt_runs[name].datasets]
