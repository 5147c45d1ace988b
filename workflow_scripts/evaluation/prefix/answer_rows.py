"""Answers that take their next token in the same call, a row each, with what steps need on the device.

A step's shapes are how many rows run and how many of their own entries are looked at. On a CPU both
are just what the answers need; with `static` they are rounded up, so that few shapes occur and each
can be a CUDA graph: the likeliest token, the lengths and the masks of the next step are its work too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from workflow_scripts.evaluation.prefix.answer_cache import AnswerCache, CacheShape, Pieces
from workflow_scripts.evaluation.prefix.attention import attending
from workflow_scripts.evaluation.prefix.cache import TreeCache
from workflow_scripts.evaluation.prefix.graphs import StepGraphs

_ATTENTION = "shared_start"
# Where shapes are static, a step looks at a multiple of so many entries.
STATIC_ENTRIES = 128

# Rows whose entries are copied at once: enough, and what is copied is small beside the cache.
_FILLED_AT_ONCE = 8

Seat = tuple[int, int] | None


class AnswerRows:
    def __init__(self, model, read: TreeCache, shape: CacheShape, *, static: bool):
        self.model, self.shape, self.static = model, shape, static  # a CausalModel
        self.cache = AnswerCache(read, shape)
        device = torch.device(model.device)
        # Of each row: the token to run, its own entries so far and at most, those in its lane.
        self._state = torch.zeros(4, shape.rows, dtype=torch.long, device=device)
        self._in_lane: list[int | None] = [None] * shape.lanes  # whose start
        self._to_fill: Pieces = []
        self._lanes_to_fill: Pieces = []
        self._begun: list[list[int]] = []  # the states of the rows to fill
        alone = device.type == "cuda" and self.cache.devices == {device}
        self._graphs = StepGraphs(model) if static and alone else None

    def fill(
        self,
        row: int,
        path: np.ndarray,
        token: int,
        new_tokens: int,
        seat: Seat,
        family: int,
        start: int,
    ) -> None:
        """Give a row the cache entries of its prompt, the first `start` of which its lane has.

        They are copied when the rows settle, which is before others are read in their place.
        """
        self._sit(row, seat)
        if seat and self._in_lane[seat[0]] != family:
            self._lanes_to_fill.append((seat[0], path[:start]))
            self._in_lane[seat[0]] = family
        self._to_fill.append((row, path[start:]))
        own = len(path) - start
        # The last token of an answer is not read; a row that goes on does so in place, for nothing.
        most = own + max(new_tokens - 2, 0)
        self._begun.append([token, own, most, start])
        if len(self._to_fill) == _FILLED_AT_ONCE:
            self.settle()

    def settle(self) -> None:
        """Copy what rows have been given, all at once."""
        if not self._to_fill:
            return
        self.cache.fill_lanes(self._lanes_to_fill)
        self.cache.fill_rows(self._to_fill)
        device = self._state.device
        rows = torch.tensor([row for row, _ in self._to_fill]).to(device)
        self._state[:, rows] = torch.tensor(self._begun).to(device).T
        self._to_fill, self._lanes_to_fill, self._begun = [], [], []

    def move(self, source: int, target: int, length: int, seat: Seat) -> None:
        """Let a row with so many entries of its own stand where another has ended."""
        self.cache.move_row(source, target, length)
        self._state[:, target] = self._state[:, source]
        self._sit(target, seat)

    def _sit(self, row: int, seat: Seat) -> None:
        self.cache.places[row] = -1
        if seat:
            lane, place = seat
            self.cache.members[lane, place] = row
            self.cache.places[row] = lane * self.shape.per_lane + place

    def choose(self, tokens: list[int]) -> None:
        """What the first rows are to run, where it is not the likeliest token."""
        self._state[0, : len(tokens)] = torch.tensor(tokens, device=self._state.device)

    def run(
        self, rows: int, longest: int, lanes: int, steps: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """So many steps of the first rows, in the first lanes; the longest row has so many entries.

        Returns the likeliest token of each row at each step, and the logits of the last step.
        """
        width, step, shape = rows, self.cache.step, self.shape
        step.seen = min(longest + steps, shape.own)
        step.lanes_in_use = max(lanes, min(1, shape.lanes))
        if self.static:
            width = min(1 << (rows - 1).bit_length(), shape.rows)
            step.seen = min(-(-step.seen // STATIC_ENTRIES) * STATIC_ENTRIES, shape.own)
            step.lanes_in_use = shape.lanes
        likeliest = []
        for _ in range(steps):
            logits = self._run(width)
            self.model.tokens_run += width
            likeliest.append(self._state[0, :rows].clone())
        return torch.stack(likeliest), logits[:rows]

    def _run(self, width: int) -> torch.Tensor:
        if self._graphs is None:
            return self.step(width)
        shape = (width, self.cache.step.seen)
        return self._graphs.run(shape, lambda: self.step(width), self._state)

    def step(self, width: int) -> torch.Tensor:
        """Run the token of each of the first rows; its likeliest successor is run next."""
        cache = self.cache
        ids, lengths, most, starts = self._state[:, :width]
        device = ids.device
        cache.step.begin(lengths.clone())
        of_start = torch.arange(self.shape.start, device=device).expand(width, -1)
        own = torch.arange(cache.step.seen, device=device).expand(width, -1)
        visible = torch.cat([of_start < starts[:, None], own <= lengths[:, None]], dim=1)
        depths = torch.cat([of_start, own + starts[:, None]], dim=1)
        logits = self.model.one_more(ids, lengths + starts, visible, depths, cache)
        ids.copy_(logits.argmax(-1))
        lengths.copy_(torch.minimum(lengths + 1, most))
        return logits


@contextmanager
def attention_of(model, shape: CacheShape, cache: AnswerCache) -> Iterator[None]:
    """Let a CausalModel attend to the lanes of a cache, if it has any."""
    if not shape.lanes:
        yield
        return
    ALL_ATTENTION_FUNCTIONS[_ATTENTION] = cache.attend
    try:
        with attending(model.model, _ATTENTION):
            yield
    finally:  # what is registered keeps the keys of all answers
        del ALL_ATTENTION_FUNCTIONS[_ATTENTION]


def step_both_ways(
    model, read: TreeCache, paths: list[np.ndarray], start: int
) -> list[torch.Tensor]:
    """Logits of one step after what was read, without a lane and with one for the common start."""
    found = []
    for lanes, of_lane in ((0, 0), (1, start)):
        own = max(map(len, paths)) - of_lane + 1
        shape = CacheShape(len(paths), own, lanes, len(paths), of_lane)
        rows = AnswerRows(model, read, shape, static=False)
        for row, path in enumerate(paths):
            rows.fill(row, path, 1, 2, (0, row) if lanes else None, 0, of_lane)
        rows.settle()
        with attention_of(model, shape, rows.cache):
            found.append(rows.run(len(paths), own - 1, lanes, 1)[1])
    return found
