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
from workflow_scripts.core.words import many

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
_PROPOSALS = 3


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
    """Lay out `num_layers` layers; a UserError names the nearest plans where they do not come out even.

    `num_chunks` decides in the modes that share a start and an end, where null means 2. Elsewhere it
    follows from the other numbers and, where given, must agree with them. 0 chunks of 0 layers is
    the unchanged model in every mode. `prune` reads `layers_to_prune` and neither of the numbers.
    `layers_before_chunks` moves the chunks in the modes that share a start and an end; null shares as
    many layers before them as behind.
    """
    size, before = num_layers_per_chunk, layers_before_chunks
    is_unchanged = size == 0 and not num_chunks
    if before is not None and (is_unchanged or not mode.endswith(BOTH_SIDES)):
        raise UserError(
            f"layers_before_chunks is {before} with the mode {mode}; expected none, because only chunks in"
            f" the modes sequential{BOTH_SIDES} and uniform{BOTH_SIDES} can be moved."
        )
    if mode == "prune":
        return _prune(num_layers, layers_to_prune or ())
    if layers_to_prune:
        raise UserError(
            f"layers_to_prune is {list(layers_to_prune)} with the mode {mode}; expected none, because"
            " only the mode prune leaves layers out."
        )
    if size is None:
        raise UserError(f"num_layers_per_chunk is missing; the mode {mode} needs it.")
    if is_unchanged:
        return ChunkPlan(tuple(range(num_layers)), (), ())
    if num_chunks is None and mode.endswith(BOTH_SIDES):
        num_chunks = _DEFAULT_CHUNKS
    plan = _place_chunks(num_layers, mode, size, num_chunks, before)
    if plan is None:
        raise _refuse(num_layers, mode, size, num_chunks, before)
    return plan


def _prune(num_layers: int, layers: Sequence[int]) -> ChunkPlan:
    kept = tuple(layer for layer in range(num_layers) if layer + 1 not in layers)
    if not kept or len(kept) + len(set(layers)) != num_layers:
        raise UserError(
            f"layers_to_prune names the layer {max(layers)} of a model of {num_layers} layers, or all of"
            f" them; expected numbers from 1 to {num_layers}, and one layer that stays."
        )
    return ChunkPlan(kept, (), ())


def _place_chunks(
    num_layers: int, mode: Mode, size: int, number: int | None, before: int | None
) -> ChunkPlan | None:
    """Place the chunks, as slices of consecutive layers or every n-th layer each; None where they do not fit."""
    if size < 1:
        return None
    if mode.endswith(BOTH_SIDES):
        number = number or 0
        shared = num_layers - number * size
        start = shared // 2 if before is None else before
        end = start if before is None else shared - start
    else:
        end = 0
        start = 1 if mode.endswith("_with_first_layer") else 0
        if mode.endswith("_with_shared_start"):
            start = size
        number = (num_layers - start) // size if number is None else number
    if number < 1 or min(start, end) < 0 or start + number * size + end != num_layers:
        return None
    middle = range(start, num_layers - end)
    if mode.startswith("sequential"):
        slices = [middle[i * size : (i + 1) * size] for i in range(number)]
    else:
        slices = [middle[i::number] for i in range(number)]
    return ChunkPlan(
        tuple(range(start)), tuple(map(tuple, slices)), tuple(range(middle.stop, num_layers))
    )


def _refuse(
    num_layers: int, mode: Mode, size: int, number: int | None, before: int | None
) -> UserError:
    """Name the plans nearest to the one that does not fit."""
    plans = [
        (k, m)
        for m in range(1, num_layers + 1)
        for k in range(1, num_layers // m + 1)
        if _place_chunks(num_layers, mode, m, k, before)
    ]
    plans.sort(key=lambda plan: abs(plan[1] - size) + (abs(plan[0] - number) if number else 0))
    nearest = " or ".join(f"{many(k, 'chunk')} of {m}" for k, m in plans[:_PROPOSALS])
    chunks = "chunks" if number is None else many(number, "chunk")
    moved = "" if before is None else f" behind {many(before, 'layer')}"
    return UserError(
        f"{many(num_layers, 'layer')} cannot be cut into {chunks} of {many(size, 'layer')}{moved} in the"
        f" mode {mode}; nearest fit: {nearest or 'none'} (0 chunks of 0 is the unchanged model). Where an odd"
        " number of layers is shared, layers_before_chunks says how many stand before the chunks."
    )
