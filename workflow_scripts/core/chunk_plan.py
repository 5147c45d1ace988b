"""Assign the layers of a model to a shared start, parallel chunks and a shared end.

The outputs of the chunks are aggregated before the shared end. A plan must use each layer exactly once: no layer is
repeated or dropped to make the numbers divide evenly. Layers are counted from 0, as in the names of
the weights; only `layers_to_prune` counts from 1, because published checkpoints do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workflow_scripts.core.errors import UserError

Mode = Literal[
    "sequential",
    "uniform",
    "sequential_with_first_layer",
    "uniform_with_first_layer",
    "sequential_with_shared_start",
    "uniform_with_shared_start",
    "sequential_with_shared_start_and_end",
    "uniform_with_shared_start_and_end",
    "prune",
]
DEFAULT_MODE: Mode = "uniform_with_shared_start_and_end"
Aggregation = Literal["mlp", "mean", "last", "residual"]
AggregationBase = Literal["residual", "mean", "none"]  # the mlp adds its output to this
AdapterInit = Literal["identity", "normal"]
DistillationLoss = Literal["own", "published"]
# Modes with this suffix read `num_chunks`.
BOTH_SIDES = "_with_shared_start_and_end"
_DEFAULT_CHUNKS = 2  # if `num_chunks` is null in the modes with a shared start and end


@dataclass(frozen=True)
class ChunkPlan:
    """The layers of the shared start, of each parallel chunk and of the shared end, counted from 0."""

    start: tuple[int, ...]
    chunks: tuple[tuple[int, ...], ...]
    end: tuple[int, ...]


def build_chunk_plan(
    num_layers: int,
    mode: Mode,
    num_layers_per_chunk: int | None,
    num_chunks: int | None = None,
    layers_to_prune: Sequence[int] | None = None,
) -> ChunkPlan:
    """Build the plan of `num_layers` layers; raise UserError if the layers cannot be divided evenly.

    `num_chunks` is read in the modes with a shared start and end, where null means 2. In other modes it
    follows from the other numbers and, if given, must agree with them. 0 chunks of 0 layers is
    the unchanged model in every mode. `prune` reads only `layers_to_prune`.
    """
    is_prune = mode == "prune"
    has_both_sides = mode.endswith(BOTH_SIDES)
    pruned = layers_to_prune or ()
    size = num_layers_per_chunk
    if bool(pruned) != is_prune or not set(pruned) < set(range(1, num_layers + 1)):
        raise UserError(
            f"layers_to_prune is {list(pruned)} with the mode {mode}; expected some of the layers 1 to"
            f" {num_layers} with the mode prune, and none with all others."
        )
    if is_prune:
        remaining = tuple(layer for layer in range(num_layers) if layer + 1 not in pruned)
        return ChunkPlan(remaining, (), ())
    if size is None:
        raise UserError(f"num_layers_per_chunk is missing; the mode {mode} needs it.")
    if size == 0 and not num_chunks:
        return ChunkPlan(tuple(range(num_layers)), (), ())
    count = _DEFAULT_CHUNKS if num_chunks is None and has_both_sides else num_chunks
    half_of_rest = (num_layers - (count or 0) * size) // 2
    starts = {"": 0, "first_layer": 1, "shared_start": size, "shared_start_and_end": half_of_rest}
    start = starts[mode.partition("_with_")[2]]
    if count is None:
        count = (num_layers - start) // max(size, 1)
    end = num_layers - start - count * size
    if min(size, count) < 1 or start < 0 or end != (start if has_both_sides else 0):
        raise UserError(
            f"{num_layers} layers cannot be cut into {count} chunks of {size} in the mode {mode}."
        )
    middle = range(start, num_layers - end)
    if mode.startswith("sequential"):
        slices = [middle[i * size : (i + 1) * size] for i in range(count)]
    else:
        slices = [middle[i::count] for i in range(count)]
    return ChunkPlan(
        tuple(range(start)), tuple(map(tuple, slices)), tuple(range(middle.stop, num_layers))
    )
