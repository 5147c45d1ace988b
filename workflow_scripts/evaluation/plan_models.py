"""Load a model under each chunk plan, and describe a plan as the condition of a metric."""

from collections.abc import Iterator
from pathlib import Path

from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Loading


def load_plans(
    model: Path, plans: tuple[Checkpoint, ...], compute: Loading
) -> Iterator[tuple[dict[str, str | None], LoadedModel]]:
    """Yield the unchanged model and then each plan's model, with the plan's condition fields."""
    loaded = load_model(model, **compute.loading)
    layers = loaded.model.config.num_hidden_layers
    yield {"plan": UNCHANGED}, loaded
    del loaded
    for plan in plans:
        yield (
            build_plan_condition(plan, layers),
            load_model(model, chunking=plan.keys, **compute.loading),
        )


def build_plan_condition(plan: Checkpoint, layers: int) -> dict[str, str | None]:
    """Return the condition fields of a plan; its name is without aggregation and adapters."""
    return {
        "plan": plan.build_id(layers).layout.variant.removeprefix("@"),
        "aggregation": plan.aggregation,
        "adapters": plan.adapters,
    }
