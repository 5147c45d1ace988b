"""What the rules of the prompt runs are given: runs, their datasets, and what a question is shown of."""

from workflow_scripts.settings.prompts.requests import (
    explain_request,
    prompt_request,
    reading_request,
)


def runs_of_a_job(wildcards):
    return list(SETTINGS.prompt_runs) if SETTINGS.asked_together else [wildcards.run]


def each_run(path):
    """The files of a job that asks a model."""
    return of_a_job(path, SETTINGS.asked_together, run=SETTINGS.prompt_runs)


def beside_each_run(path):
    return beside_a_job(path, SETTINGS.asked_together, "run")


def prompt_datasets(wildcards):
    runs = [SETTINGS.prompt_runs[run] for run in runs_of_a_job(wildcards)]
    names = dict.fromkeys(name for run in runs for name in run.datasets)
    return [manifest_of("dataset", name) for name in names]


def prompt_need(wildcards):
    return PLANNER.prompt_runs(wildcards.checkpoint, *runs_of_a_job(wildcards))


def asked_of_prompt_run(wildcards):
    runs = runs_of_a_job(wildcards)
    requests = [prompt_request(SETTINGS, run).as_params() for run in runs]
    return requests if SETTINGS.asked_together else requests[0]


def asked_of_reading(wildcards):
    return reading_request(SETTINGS, wildcards.run).as_params()


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
