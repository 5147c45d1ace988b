"""The parts of a record that say on what a model was measured, and how it ran."""

from typing import Any

from workflow_scripts.core.records import Protocol, TaskFacts
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.manifest import Manifest

HARNESS, HARNESS_VERSION = "chorus", "1"  # raise it when what is measured changes its meaning


def own_task(name: str, dataset: Manifest, split: str, *, shots: int = 0) -> TaskFacts:
    """Of a task that no harness of others puts."""
    return TaskFacts(
        name=name,
        harness=HARNESS,
        harness_version=HARNESS_VERSION,
        dataset=dataset.repository,
        dataset_commit=dataset.commit,
        split=split,
        shots=shots,
    )


def protocol_of(
    name: str,
    loaded: LoadedModel,
    *,
    seed: int,
    batch_size: int,
    attention: str | None = None,
    **more: Any,
) -> Protocol:
    """`attention` is what ran, where it was not the model's own."""
    return Protocol(
        name=name,
        dtype=loaded.dtype,
        attention=attention or loaded.attention,
        batch_size=batch_size,
        threads=loaded.threads,
        seed=seed,
        **more,
    )
