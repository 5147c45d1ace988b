"""Keys and values of answers that grow side by side: each row holds those of its own path only.

What a family of prompts starts with is kept in a lane, once for a number of rows, and read once for
all of them: attention then has two parts under one softmax, the lane's keys and the row's own.
"""

from dataclasses import dataclass

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

from workflow_scripts.evaluation.prefix.cache import TreeCache

# Rows or lanes, and the entries that each is given.
Pieces = list[tuple[int, np.ndarray]]


@dataclass(frozen=True)
class CacheShape:
    rows: int
    own: int  # entries of a row
    lanes: int = 0
    per_lane: int = 1  # rows that a lane serves at most
    start: int = 0  # entries of a lane

    @property
    def entries(self) -> int:
        return self.rows * self.own + self.lanes * self.start


class _Step:
    """What a step looks at, the first so many, and where its keys belong.

    Layers know it and not the cache, so that nothing that has keys is part of a cycle: they are gone as
    soon as nobody needs them.
    """

    def __init__(self, shape: CacheShape):
        self.seen, self.lanes_in_use = 0, shape.lanes
        self._own = shape.own

    def begin(self, lengths: torch.Tensor) -> None:
        """A token more in each of the first rows, which have so many entries."""
        self._lengths = lengths
        self._places: dict[tuple, torch.Tensor] = {}

    def places(self, heads: int, device: torch.device) -> torch.Tensor:
        """Where a layer's new keys belong, its rows, heads and entries one behind another."""
        if (heads, device) not in self._places:
            firsts = self._own * torch.arange(len(self._lengths) * heads, device=device)
            lengths = self._lengths.to(device)[:, None].expand(-1, heads)
            self._places[heads, device] = firsts + lengths.reshape(-1)
        return self._places[heads, device]


class _AnswerLayer(DynamicLayer):
    def __init__(self, read: DynamicLayer, shape: CacheShape, step: _Step):
        super().__init__()
        self._step = step
        self.is_initialized = True
        # Zeros: whatever lies in entries that are masked must be a number.
        self.keys, self.start_keys = _buffers(read.keys, shape)
        self.values, self.start_values = _buffers(read.values, shape)

    def update(self, key_states, value_states, *args, **kwargs):
        step, (width, heads) = self._step, key_states.shape[:2]
        places = step.places(heads, self.keys.device)
        for own, new in ((self.keys, key_states), (self.values, value_states)):
            # By one index, the first: PyTorch's deterministic kernel for GPUs copies all else.
            own.view(-1, own.shape[-1]).index_copy_(0, places, new.reshape(-1, own.shape[-1]))
        return self.keys[:width, :, : step.seen], self.values[:width, :, : step.seen]

    def get_seq_length(self) -> int:
        return self._step.seen

    def buffers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        return [(self.keys, self.start_keys), (self.values, self.start_values)]


def _buffers(like: torch.Tensor | None, shape: CacheShape) -> tuple[torch.Tensor, torch.Tensor]:
    assert like is not None
    _, heads, _, width = like.shape
    return (
        like.new_zeros(shape.rows, heads, shape.own, width),
        like.new_zeros(shape.lanes, heads, shape.start, width),
    )


class AnswerCache(Cache):
    """`attend` is the attention to call with it where it has lanes; the model's own will do else."""

    def __init__(self, read: TreeCache, shape: CacheShape):
        """With a layer for each that the model has filled in while it read."""
        self.step = _Step(shape)
        self._filled = [
            (layer, _AnswerLayer(layer, shape, self.step))
            for layer in read.layers
            if layer.is_initialized
        ]
        by_read = {id(layer): mine for layer, mine in self._filled}
        super().__init__(layers=[by_read.get(id(layer), layer) for layer in read.layers])
        self.devices = {mine.keys.device for _, mine in self._filled}
        device = next(iter(self.devices), None)
        self.shape = shape
        # The rows of each lane (what is not in use names any), and for each row its place among
        # them, or -1.
        self.members = torch.zeros(shape.lanes, shape.per_lane, dtype=torch.long, device=device)
        self.places = torch.full((shape.rows,), -1, dtype=torch.long, device=device)

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        self._current = self.layers[layer_idx]  # attention follows at once
        return super().update(key_states, value_states, layer_idx, *args, **kwargs)

    def fill_rows(self, pieces: Pieces) -> None:
        """Copy what was read at some entries to the starts of rows."""
        self._fill(pieces, 0)

    def fill_lanes(self, pieces: Pieces) -> None:
        self._fill(pieces, 1)

    def _fill(self, pieces: Pieces, which: int) -> None:
        """All of them at once, layer by layer: on a GPU each copy takes as long as its launch."""
        if not pieces:
            return
        lengths = [len(entries) for _, entries in pieces]
        table = torch.from_numpy(
            np.stack(
                [
                    np.concatenate([entries for _, entries in pieces]),
                    np.repeat([number for number, _ in pieces], lengths),
                    np.concatenate([np.arange(length) for length in lengths]),
                ]
            )
        )
        for read, mine in self._filled:
            table = table.to(mine.keys.device)
            entries, number, within = table
            buffers = [both[which] for both in mine.buffers()]
            _, heads, length, _ = buffers[0].shape
            head = torch.arange(heads, device=table.device)[:, None]
            places = ((number * heads + head) * length + within).view(-1)
            for source, buffer in zip((read.keys, read.values), buffers, strict=True):
                width = buffer.shape[-1]  # keys and values may differ in nothing else
                copied = source[0].index_select(1, entries).view(-1, width)
                buffer.view(-1, width).index_copy_(0, places, copied)

    def move_row(self, source: int, target: int, length: int) -> None:
        for _, mine in self._filled:
            for own, _ in mine.buffers():
                own[target, :, :length] = own[source, :, :length]

    def attend(
        self,
        module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor,
        scaling: float | None = None,
        softcap: float | None = None,
        **_kwargs,
    ) -> tuple[torch.Tensor, None]:
        """One query a row on its lane's keys and on its own; the mask has the lanes' keys first."""
        layer = self._current
        rows, heads, _, width = query.shape
        key_heads = key.shape[1]
        query = query.reshape(rows, key_heads, heads // key_heads, width)
        query = query * (width**-0.5 if scaling is None else scaling)
        in_use = self.step.lanes_in_use
        lanes = _scores(self._to_lanes(query), layer.start_keys[:in_use])
        scores = torch.cat([self._to_rows(lanes, rows), _scores(query, key)], dim=-1)
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        weights = (scores.float() + attention_mask).softmax(-1).to(value.dtype)
        of_start, own = weights.split([self.shape.start, key.shape[2]], dim=-1)
        lanes = self._to_lanes(of_start) @ layer.start_values[:in_use]
        seated = (self.places[:rows] >= 0).to(lanes.device)[:, None, None, None]
        out = own @ value + self._to_rows(lanes, rows) * seated
        return out.reshape(rows, 1, heads, width), None

    def _to_lanes(self, of_rows: torch.Tensor) -> torch.Tensor:
        """From [rows, key heads, group, n] to [lanes, key heads, rows of a lane x group, n]."""
        members = self.members[: self.step.lanes_in_use].to(of_rows.device)
        # A step may run fewer rows than there are.
        chosen = of_rows[members.clamp(max=len(of_rows) - 1)]
        return chosen.transpose(1, 2).flatten(2, 3)

    def _to_rows(self, of_lanes: torch.Tensor, rows: int) -> torch.Tensor:
        """The way back."""
        lanes, key_heads, _, n = of_lanes.shape
        places = self.places[:rows].clamp(min=0).to(of_lanes.device)
        apart = of_lanes.view(lanes, key_heads, self.shape.per_lane, -1, n).transpose(1, 2)
        return apart.flatten(0, 1)[places]


def _scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """The products of each row's and head's queries and keys, in float32 where the device can do that."""
    if not _are_narrow_on_gpu(query):
        return query @ key.mT
    products = torch.bmm(query.flatten(0, 1), key.flatten(0, 1).mT, out_dtype=torch.float32)
    return products.unflatten(0, key.shape[:2])


def _are_narrow_on_gpu(numbers: torch.Tensor) -> bool:
    return numbers.is_cuda and numbers.dtype in (torch.float16, torch.bfloat16)
