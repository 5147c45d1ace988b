"""Find the inputs of the rules in harmony.smk."""

from workflow_scripts.grid.requests import build_corpus_request, find_explained_task


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
