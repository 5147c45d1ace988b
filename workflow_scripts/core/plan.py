"""Which layers of a model run one after the other, and which side by side in chunks.

A plan has a start that all chunks share, the chunks, whose outputs are aggregated, and an end that
is shared again. A plan uses each layer once, or it is refused: no layer is repeated or left over to
make the numbers come out even. Layers are counted from 0, as in the weights' names; only
`layers_to_prune` counts from 1, because published checkpoints do.
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
AggregationBase = Literal["residual", "mean", "none"]  # what an mlp adds its output to
AdapterInit = Literal["identity", "normal"]
DistillationLoss = Literal["own", "published"]
# How the names of the modes end whose chunks can be moved, and which alone read how many there are.
BOTH_SIDES = "_with_shared_start_and_end"
_DEFAULT_CHUNKS = 2  # what null has always meant in the modes that share a start and an end


@dataclass(frozen=True)
class ChunkPlan:
    start: tuple[int, ...]
    chunks: tuple[tuple[int, ...], ...]
    end: tuple[int, ...]


def chunk_plan(
    num_layers: int,
    mode: Mode,
    num_layers_per_chunk: int | None,
    num_chunks: int | None = None,
    layers_to_prune: Sequence[int] | None = None,
    layers_before_chunks: int | None = None,
) -> ChunkPlan:
    """Lay out `num_layers` layers; a UserError says where they do not come out even.

    `num_chunks` decides in the modes that share a start and an end, where null means 2. Elsewhere it
    follows from the other numbers and, where given, must agree with them. 0 chunks of 0 layers is
    the unchanged model in every mode. `prune` reads `layers_to_prune` and neither of the numbers.
    `layers_before_chunks` moves the chunks in the modes that share a start and an end; null shares as
    many layers before them as behind.
    """
    is_prune, is_movable = mode == "prune", mode.endswith(BOTH_SIDES)
    layers, size, before = layers_to_prune or (), num_layers_per_chunk, layers_before_chunks
    if bool(layers) != is_prune or not set(layers) < {*range(1, num_layers + 1)}:
        raise UserError(
            f"layers_to_prune is {list(layers)} with the mode {mode}; expected some of the layers 1 to"
            f" {num_layers} with the mode prune, and none with all others."
        )
    is_unchanged = size == 0 and not num_chunks
    if before is not None and (is_unchanged or not is_movable):
        raise UserError(
            f"layers_before_chunks is {before} with the mode {mode}; expected none, because only chunks in"
            f" the modes sequential{BOTH_SIDES} and uniform{BOTH_SIDES} can be moved."
        )
    if is_prune:
        remaining = tuple(layer for layer in range(num_layers) if layer + 1 not in layers)
        return ChunkPlan(remaining, (), ())
    if size is None:
        raise UserError(f"num_layers_per_chunk is missing; the mode {mode} needs it.")
    if is_unchanged:
        return ChunkPlan(tuple(range(num_layers)), (), ())
    number = _DEFAULT_CHUNKS if num_chunks is None and is_movable else num_chunks
    start = _count_shared(num_layers, mode, size, number or 0, before)
    if number is None:
        number = (num_layers - start) // max(size, 1)
    end = num_layers - start - number * size
    has_end = end >= 0 if before is not None else end == (start if is_movable else 0)
    if min(size, number) < 1 or start < 0 or not has_end:
        raise UserError(
            f"{num_layers} layers cannot be cut into {number} chunks of {size} in the mode"
            f" {mode} with layers_before_chunks {'null' if before is None else before}."
        )
    middle = range(start, num_layers - end)
    if mode.startswith("sequential"):
        slices = [middle[i * size : (i + 1) * size] for i in range(number)]
    else:
        slices = [middle[i::number] for i in range(number)]
    return ChunkPlan(
        tuple(range(start)), tuple(map(tuple, slices)), tuple(range(middle.stop, num_layers))
    )


def _count_shared(num_layers: int, mode: Mode, size: int, number: int, before: int | None) -> int:
    """Count the layers in front of the chunks."""
    if mode.endswith("_with_first_layer"):
        return 1
    if mode.endswith("_with_shared_start"):
        return size
    if not mode.endswith(BOTH_SIDES):
        return 0
    return (num_layers - number * size) // 2 if before is None else before
