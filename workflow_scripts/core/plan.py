"""Which layers of a model run one after the other, and which side by side in chunks.

A plan has a start that all chunks share, the chunks, whose outputs are aggregated, and an end that
is shared again. A plan uses each layer once, or it is refused: no layer is repeated or left over to
make the numbers come out even. Layers are counted from 0, as in the weights' names; only
`layers_to_prune` counts from 1, because published checkpoints do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

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
    if num_layers < 1:
        raise UserError(
            f"A model of {num_layers} layers cannot be chunked; expected at least 1 layer."
        )
    if mode not in get_args(Mode):
        raise UserError(
            f"{mode!r} is not a chunking mode; expected one of {', '.join(get_args(Mode))}."
        )
    unchanged = num_layers_per_chunk == 0 and num_chunks in (0, None)
    if layers_before_chunks is not None and (unchanged or not mode.endswith(BOTH_SIDES)):
        raise UserError(
            f"layers_before_chunks is {layers_before_chunks} with"
            f" {'no chunks' if unchanged else f'the mode {mode}'}; expected none, because only chunks in"
            f" the modes sequential{BOTH_SIDES} and uniform{BOTH_SIDES} can be moved."
        )
    if mode == "prune":
        return _pruned(num_layers, layers_to_prune or ())
    if layers_to_prune:
        raise UserError(
            f"layers_to_prune is {list(layers_to_prune)} with the mode {mode}; expected none, because"
            " only the mode prune leaves layers out."
        )
    if num_layers_per_chunk is None:
        raise UserError(f"num_layers_per_chunk is missing; the mode {mode} needs it.")
    if unchanged:
        return ChunkPlan(tuple(range(num_layers)), (), ())
    if mode.endswith(BOTH_SIDES):
        chunks = _DEFAULT_CHUNKS if num_chunks is None else num_chunks
        if layers_before_chunks is not None:
            return _moved(num_layers, mode, num_layers_per_chunk, chunks, layers_before_chunks)
        return _shared_on_both_sides(num_layers, mode, num_layers_per_chunk, chunks)
    return _shared_start(num_layers, mode, num_layers_per_chunk, num_chunks)


def _pruned(num_layers: int, layers: Sequence[int]) -> ChunkPlan:
    if outside := [layer for layer in layers if not 1 <= layer <= num_layers]:
        raise UserError(
            f"layers_to_prune names the layer {outside[0]} of a model of {num_layers} layers; expected"
            f" numbers from 1 to {num_layers}."
        )
    kept = tuple(layer for layer in range(num_layers) if layer + 1 not in layers)
    if not kept:
        raise UserError(f"layers_to_prune names all {num_layers} layers; at least one must stay.")
    return ChunkPlan(kept, (), ())


def _shared_on_both_sides(num_layers: int, mode: Mode, size: int, number: int) -> ChunkPlan:
    def fits(number: int, size: int) -> bool:
        shared = num_layers - number * size
        return number >= 1 and size >= 1 and shared >= 0 and shared % 2 == 0

    if not fits(number, size):
        plans = [
            (k, m)
            for k in range(1, num_layers + 1)
            for m in range(1, num_layers // k + 1)
            if fits(k, m)
        ]
        plans = _nearest(plans, size, number)
        shared = num_layers - number * size
        only_uneven = min(number, size, shared) >= 1
        also = f", or layers_before_chunks: {shared // 2}, with {shared - shared // 2} behind them"
        raise _does_not_fit(num_layers, mode, size, number, plans, also if only_uneven else "")
    return _moved(num_layers, mode, size, number, (num_layers - number * size) // 2)


def _moved(num_layers: int, mode: Mode, size: int, number: int, before: int) -> ChunkPlan:
    """The chunks behind so many shared layers; what is left is shared behind them."""
    behind = num_layers - number * size - before
    if min(size, number) < 1 or min(before, behind) < 0:
        raise UserError(
            f"{many(number, 'chunk')} of {many(size, 'layer')} behind {many(before, 'layer')} do"
            f" not fit into {many(num_layers, 'layer')}; expected layers_before_chunks from 0 to"
            f" {max(0, num_layers - number * size)}, and chunks that fit."
        )
    middle = range(before, num_layers - behind)
    end = tuple(range(num_layers - behind, num_layers))
    return ChunkPlan(tuple(range(before)), _cut(middle, mode, size), end)


def _shared_start(num_layers: int, mode: Mode, size: int, number: int | None) -> ChunkPlan:
    def start(size: int) -> int:
        if mode.endswith("_with_first_layer"):
            return 1
        return size if mode.endswith("_with_shared_start") else 0

    def chunks(size: int) -> int:
        """How many chunks of this size the layers make; 0 where they do not come out even."""
        rest = num_layers - start(size)
        return rest // size if size >= 1 and rest >= 1 and rest % size == 0 else 0

    if not chunks(size) or number not in (None, chunks(size)):
        plans = [(chunks(m), m) for m in range(1, num_layers + 1) if chunks(m)]
        plans = _nearest(plans, size, number)
        raise _does_not_fit(num_layers, mode, size, number, plans)
    shared = start(size)
    return ChunkPlan(tuple(range(shared)), _cut(range(shared, num_layers), mode, size), ())


def _cut(layers: range, mode: Mode, size: int) -> tuple[tuple[int, ...], ...]:
    """Slices of consecutive layers, or every n-th layer each."""
    number = len(layers) // size
    if mode.startswith("sequential"):
        return tuple(tuple(layers[i * size : (i + 1) * size]) for i in range(number))
    return tuple(tuple(layers[i::number]) for i in range(number))


def _nearest(plans: list[tuple[int, int]], size: int, number: int | None) -> list[tuple[int, int]]:
    """The plans nearest to the one asked for; the unchanged model, which always fits, is one."""

    def distance(plan: tuple[int, int]) -> int:
        return abs(plan[1] - size) + (0 if number is None else abs(plan[0] - number))

    return sorted([*plans, (0, 0)], key=lambda plan: (distance(plan), plan))[:_PROPOSALS]


def _does_not_fit(
    num_layers: int,
    mode: Mode,
    size: int,
    number: int | None,
    plans: list[tuple[int, int]],
    also: str = "",
) -> UserError:
    chunks = "chunks" if number is None else many(number, "chunk")
    fitting = " or ".join(f"{many(k, 'chunk')} of {m}" for k, m in plans)
    return UserError(
        f"{many(num_layers, 'layer')} cannot be cut into {chunks} of {many(size, 'layer')} in the"
        f" mode {mode}; nearest fit: {fitting} (0 chunks of 0 is the unchanged model){also}."
    )
