"""What the rules of the Harmony grid share: its models, and what texts of one's own need."""

from workflow_scripts.settings.cells import corpus_request

HARMONY_MODELS = [CheckpointId.parse(name).in_path for name in SETTINGS.harmony.models]


def corpus_need(wildcards):
    text = Path(SETTINGS.harmony.corpora[wildcards.corpus])
    return PLANNER.corpus(wildcards.checkpoint, text.stat().st_size / 1e6)
