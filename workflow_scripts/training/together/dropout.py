"""Dropout in front of adapters, each drawn from a stream of its own, whoever trains beside it."""

from collections.abc import Sequence

import torch
from torch import Tensor

_OUT_OF = 1 << 16  # a draw has 16 bits, four of which a generator makes at once
_LANES = 4


class Dropout:
    """Which of a layer's inputs take part. A rate is kept to within 1 in 131,072."""

    def __init__(self, rate: float, device: torch.device):
        self._dropped = round(rate * _OUT_OF)
        self._device = device
        self._streams: list[tuple[int, torch.Generator]] = []

    @property
    def scale(self) -> float:
        """What those that take part are multiplied with."""
        return _OUT_OF / (_OUT_OF - self._dropped)

    def begin(self, seeds: Sequence[int], sizes: Sequence[int]) -> None:
        """Before a row: the seed of each stretch's draws, and its tokens."""
        if self._dropped:
            self._streams = [
                (size, torch.Generator(self._device).manual_seed(seed))
                for seed, size in zip(seeds, sizes, strict=True)
            ]

    def draw(self, x: Tensor) -> Tensor | None:
        """For the next layer of a row, [tokens, width]; None is all."""
        if not self._dropped:
            return None
        width = x.shape[1]
        draws = []
        for size, stream in self._streams:
            words = torch.empty(-(-size * width // _LANES), dtype=torch.int64, device=x.device)
            words.random_(-(1 << 63), None, generator=stream)
            draws.append(words.view(torch.int16)[: size * width])
        least = torch.iinfo(torch.int16).min
        # On a CPU a product with ones and zeros is several times as fast as one with truths.
        kept = torch.empty_like(x, dtype=torch.bool if x.is_cuda else x.dtype)
        return torch.ge(torch.cat(draws).view(-1, width), least + self._dropped, out=kept)
