"""What makes one chunked checkpoint another than the one it is held against, in words."""

from workflow_scripts.core.ids import (
    NO_ADAPTERS,
    PUBLISHED_LOSS,
    USUAL_AGGREGATION,
    CheckpointId,
)

_TAUGHT = {
    "hidden": "hidden states",
    "logits": "logits",
    "both": "hidden states and logits",
}


def what_differs(id: CheckpointId, against: CheckpointId) -> str:
    """Such as `mean of the chunks, no adapters`; of a usual form beside the model itself, its layers."""
    if not against.variant:
        return f"layers as {id.layout.variant.removeprefix('@')}"
    said = {
        "aggregation": _aggregation,
        "adapters": _adapters,
        "adapter_init": _adapter_init,
        "distillation": _distillation,
    }
    choices = {
        name: getattr(id, name) for name in said if getattr(id, name) != getattr(against, name)
    }
    if id.adapters == NO_ADAPTERS:
        choices.pop("adapter_init", None)
    return ", ".join(said[name](choice) for name, choice in choices.items())


def _aggregation(mark: str | None) -> str:
    kind, _, base = (mark or USUAL_AGGREGATION).partition(".")
    if kind != "mlp":
        return {"mean": "mean of the chunks", "last": "last chunk alone"}.get(kind, kind)
    return "mlp on top of nothing" if base == "none" else f"mlp on top of the {base}"


def _adapters(mark: str | None) -> str:
    if mark == NO_ADAPTERS:
        return "no adapters"
    return f"adapters of width {mark.removeprefix('adapters')}" if mark else "adapters"


def _adapter_init(mark: str | None) -> str:
    return "adapters that start as random values" if mark else "adapters that start as the identity"


def _distillation(mark: str | None) -> str:
    if mark is None:
        return "no distillation"
    _, of, *choices = mark.split(".", 2)
    temperature = "".join(choices).removeprefix(PUBLISHED_LOSS).removeprefix(".")
    hot = f" at temperature {temperature.removeprefix('t')}" if temperature else ""
    loss = " by the published loss" if PUBLISHED_LOSS in mark else ""
    return f"distillation of {_TAUGHT[of]}{loss}{hot}"
