"""What the rules of the prompt runs are given: runs, their datasets, and what a question is shown of."""


def prompt_datasets(wildcards):
    names = SETTINGS.prompt_runs[wildcards.run].datasets
    return [manifest_of("dataset", name) for name in names]


def prompt_need(wildcards):
    return PLANNER.prompt_run(wildcards.checkpoint, wildcards.run)


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
