"""Whether entries of chunking.checkpoints are one model, by one name or by two."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workflow_scripts.core.plan import ChunkPlan
from workflow_scripts.settings.section import contradiction

if TYPE_CHECKING:
    from workflow_scripts.settings.checkpoint import Checkpoint


def refuse_one_model_twice(checkpoints: Sequence["Checkpoint"], layers: Mapping[str, int]) -> None:
    """`layers` are those of each model. What is trained twice under two names shows no difference."""
    named: dict[str, int] = {}
    made: dict[tuple[Any, ...], int] = {}
    for position, checkpoint in enumerate(checkpoints):
        name = str(checkpoint.id(layers[checkpoint.model]))
        if name in named:
            raise contradiction(
                f"checkpoints[{position}] is {name!r}, as checkpoints[{named[name]}] is;"
                " expected each variant once."
            )
        parts = made_of(checkpoint, layers[checkpoint.model])
        if parts in made:
            first = checkpoints[made[parts]]
            raise contradiction(
                f"checkpoints[{position}], {name!r}, has the same layers in the same places as"
                f" checkpoints[{made[parts]}], {str(first.id(layers[first.model]))!r}, and all else alike;"
                " expected each model once."
            )
        named[name] = made[parts] = position


def made_of(checkpoint: "Checkpoint", layers: int) -> tuple[Any, ...]:
    """All that makes another model, and nothing that does not: modes may have one plan, and of one chunk
    there is nothing to aggregate.
    """
    plan = checkpoint.plan(layers)
    aggregation, base = checkpoint.aggregation_mode, checkpoint.aggregation_base
    if len(plan.chunks) == 1:
        aggregation = "mlp" if aggregation == "mlp" else "residual"
        base = "residual" if base == "mean" else base
        if not checkpoint.use_adapters:  # where the one chunk begins makes no difference then
            layers_of = (*plan.start, *plan.chunks[0])
            plan = ChunkPlan((), (layers_of,), plan.end)
            if aggregation != "mlp":
                plan = ChunkPlan((*layers_of, *plan.end), (), ())
    taught = (
        *(checkpoint.distillation, checkpoint.logits_distillation),
        checkpoint.temperature if checkpoint.logits_distillation else None,
        (checkpoint.distillation or checkpoint.logits_distillation)
        and checkpoint.distillation_loss,
    )
    if not plan.chunks:
        # One chunk is what the unchanged model is, and learns nothing from it.
        return checkpoint.model, plan, taught if checkpoint.mode == "prune" else None
    return (
        *(checkpoint.model, plan, aggregation, base if aggregation == "mlp" else None),
        *(
            checkpoint.use_adapters,
            checkpoint.adapter_hidden_size if checkpoint.use_adapters else None,
            checkpoint.adapter_init if checkpoint.use_adapters else None,
        ),
        taught,
    )
