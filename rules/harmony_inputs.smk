"""What the rules of the Harmony grid share: its models, and the tasks of each protocol."""

from workflow_scripts.settings.cells import corpus_request, tasks_of

HARMONY_MODELS = [CheckpointId.parse(name).in_path for name in SETTINGS.harmony.models]
# What the config asks for of each protocol.
HARMONY_WANTED = {
    protocol: list(tasks_of(SETTINGS, "harmony", protocol))
    for protocol in ("direct", "few_shot", "train_before_test")
    if protocol in SETTINGS.harmony.protocols
}


def corpus_need(wildcards):
    text = Path(SETTINGS.harmony.corpora[wildcards.corpus])
    return PLANNER.corpus(wildcards.checkpoint, text.stat().st_size / 1e6)
