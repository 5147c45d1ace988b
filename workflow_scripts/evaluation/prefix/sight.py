"""Who sees whom in one call: every token its own ancestors, told without a matrix of tokens and keys.

In depth-first order the descendants of a token are those that follow it up to some number. So two numbers
a key say everything, and neighbouring tokens see whole ranges of keys.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

Range = tuple[int, int]  # entries of the cache, from and to


@dataclass(frozen=True)
class Branch:
    """Neighbouring rows of a call, of which each sees those before it, and what all of them see."""

    start: int
    rows: int
    seen: tuple[Range, ...]  # from the root on


@dataclass(frozen=True)
class Sight:
    """Of the keys of a call: first what the cache held, then the rows of the call themselves."""

    numbers: np.ndarray  # in depth-first order
    ends: np.ndarray  # the number behind the last descendant
    depths: np.ndarray
    branches: tuple[Branch, ...]

    @cached_property
    def rows(self) -> int:
        return sum(branch.rows for branch in self.branches)

    def mask(self, device, window: int = 0) -> torch.Tensor:
        """For each row which keys it sees; in a window only those that stand less far before it."""
        numbers, ends, depths = (
            torch.from_numpy(of_keys).to(device)
            for of_keys in (self.numbers, self.ends, self.depths)
        )
        row = numbers[-self.rows :, None]
        seen = (numbers <= row) & (row < ends)
        return seen & (depths[-self.rows :, None] - depths < window) if window else seen


def joined(seen: tuple[Range, ...], more: Range) -> tuple[Range, ...]:
    """The ranges and one behind them, which goes on with the last if it can."""
    if more[0] == more[1]:
        return seen
    if seen and seen[-1][1] == more[0]:
        return (*seen[:-1], (seen[-1][0], more[1]))
    return (*seen, more)


def first_of(seen: tuple[Range, ...], count: int) -> tuple[Range, ...]:
    """The ranges cut behind so many entries."""
    found = []
    for start, end in seen:
        if count <= 0:
            break
        found.append((start, min(end, start + count)))
        count -= end - start
    return tuple(found)


def last_of(seen: tuple[Range, ...], count: int) -> tuple[Range, ...]:
    """The ranges without all but their last entries."""
    found = []
    for start, end in reversed(seen):
        if count <= 0:
            break
        found.append((max(start, end - count), end))
        count -= end - start
    return tuple(reversed(found))
