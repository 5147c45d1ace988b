"""List the models of the Harmony grid, and estimate and find the inputs of its rules."""

from workflow_scripts.grid.requests import build_corpus_request, find_explained_task


def estimate_corpus(wildcards):
    text = Path(SETTINGS.harmony.corpora[wildcards.corpus])
    return PLANNER.corpus(wildcards.checkpoint, text.stat().st_size / 1e6)


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
