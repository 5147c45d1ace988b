"""Build the parts of a record that describe the task and how the model ran."""

from collections.abc import Sequence
from typing import Any

from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric, Protocol, TaskFacts
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.record_fields import RunTracker

HARNESS, HARNESS_VERSION = "chorus", "1"  # raise it when the meaning of a metric changes


def build_task_facts(
    name: str, dataset: str, commit: str, split: str, *, shots: int = 0
) -> TaskFacts:
    """Build the description of a task that this project evaluates without an external harness."""
    return TaskFacts(
        name=name,
        harness=HARNESS,
        harness_version=HARNESS_VERSION,
        dataset=dataset,
        dataset_commit=commit,
        split=split,
        shots=shots,
    )


def describe_run(
    protocol: str,
    request: Any,
    loaded: LoadedModel,
    tracker: RunTracker,
    tokens: int,
    *,
    devices: Sequence[str] = (),
    attention: str | None = None,
    batch_size: int | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Build the fields of a record that describe how a model ran; `fields` are further ones of the protocol.

    `attention` overrides the model's configured attention, and `batch_size` that of the request.
    """
    described = Protocol(
        name=protocol,
        dtype=loaded.dtype,
        attention=attention or loaded.attention,
        batch_size=batch_size or request.compute.batch_size,
        threads=loaded.threads,
        seed=request.seed,
        **fields,
    )
    return {"protocol": described, **tracker.build_fields(request, loaded, tokens, devices)}


def build_metric(
    name: str,
    value: float,
    n: int,
    condition: Condition | None = None,
    stderr: float | None = None,
) -> Metric:
    """Build a metric without a baseline of constant or random answers."""
    return Metric(
        name=name,
        condition=condition,
        value=value,
        stderr=stderr,
        n=n,
        best_constant=None,
        chance=None,
    )


def format_label(task: str, condition: Condition | None) -> str:
    """Join the task and the condition: magpie/k2m12-sequential/mean/easy."""
    varied = condition.model_dump(exclude_none=True).values() if condition else ()
    return "/".join([task, *map(str, varied)])
