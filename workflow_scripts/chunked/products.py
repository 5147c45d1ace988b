"""Ways to make the products of few tokens on a CPU, where reading the weights is all the work.

Which is fastest, by a factor of up to four, is a matter of the processor, the shape and the number of tokens.
So each is timed once, at the first product of a kind, and what was found is kept for the process. A model reads
all its other weights between two products with the same ones, so those that are timed are not left in a cache.

The results differ in the last digits. Where the same bytes are wanted each time, nothing is timed, and
products are made as those of many tokens are.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

# From x [k, n, in] and weights [k, out, in] to [k, n, out].
Way = Callable[[Tensor, Tensor], Tensor]

FEW = 16  # of more tokens it is arithmetic that takes the time, and the ways differ by little
# Numbers in a matrix of weights; below, a call costs more than a product gains by being small.
_WIDE = 1 << 18
_ROUNDS = 5
_CACHED = 1 << 24  # numbers in float32 that are more than the caches of a processor hold
_CLEARLY = 0.97


@dataclass
class Timing:
    """Whether a model's products may be made as is fastest here, or are to have the same bytes each time."""

    allowed: bool = True


def as_a_batch(x: Tensor, weight: Tensor) -> Tensor:
    return torch.bmm(x, weight.mT)


def layer_by_layer(x: Tensor, weight: Tensor) -> Tensor:
    """What the loop does."""
    return torch.stack([F.linear(*one) for one in zip(x, weight, strict=True)])


def weights_first(x: Tensor, weight: Tensor) -> Tensor:
    """The weights as the left factor; a single layer is cut into halves, for two threads to share."""
    k, n, _ = x.shape
    if k == 1 and weight.shape[1] % 2 == 0:
        weight, x = weight.view(2, -1, weight.shape[2]), x.expand(2, -1, -1)
    out = torch.bmm(weight, x.mT)
    return out.view(k, n, -1) if n == 1 else out.view(k, -1, n).mT.contiguous()


def in_pieces(x: Tensor, weight: Tensor, widths: Sequence[int]) -> Tensor:
    """Each linear layer by itself, as the loop has it: of wide layers side by side MKL makes slower products."""
    out = x.new_empty(*x.shape[:2], weight.shape[1])
    for one, of_layer, into in zip(x, weight, out, strict=True):
        pieces = zip(of_layer.split(widths), into.split(widths, dim=1), strict=True)
        for piece, own in pieces:
            torch.mm(one, piece.mT, out=own)
    return out


def are_wide(widths: Sequence[int], weight: Tensor) -> bool:
    return len(widths) > 1 and min(widths) * weight.shape[2] >= _WIDE


WAYS: tuple[Way, ...] = (as_a_batch, layer_by_layer, weights_first)
_found: dict[tuple, Way] = {}


def fastest_here(x: Tensor, weight: Tensor) -> Way:
    # A way may win at 16 tokens and lose at 12.
    kind = (x.shape[1], weight.shape, weight.dtype, torch.get_num_threads())
    if (way := _found.get(kind)) is None:
        others = torch.ones(_CACHED if weight[0].numel() >= _WIDE else 0)
        way = _found[kind] = fastest(WAYS, lambda one: _seconds(one, x, weight, others))
    return way


def fastest(ways: Sequence[Way], seconds: Callable[[Way], float]) -> Way:
    """By the best of some rounds, in which they take turns; the first, unless another is clearly faster."""
    least = [
        min(of_way) for of_way in zip(*([*map(seconds, ways)] for _ in range(_ROUNDS)), strict=True)
    ]
    best = min(range(len(ways)), key=least.__getitem__)
    return ways[best] if least[best] < _CLEARLY * least[0] else ways[0]


def _seconds(way: Way, x: Tensor, weight: Tensor, others: Tensor) -> float:
    """After what the model reads in between."""
    others.sum()
    start = time.perf_counter()
    way(x, weight)
    return time.perf_counter() - start
