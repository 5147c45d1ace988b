"""Keys and values of answers that take their next token in the same call.

What all prompts of a batch start with is kept once; what follows it has a row for each answer. On a GPU
the shapes of a step are rounded up, so that few occur and each can be a CUDA graph.
"""

from dataclasses import dataclass

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

from workflow_scripts.evaluation.prefix.cache import TreeCache
from workflow_scripts.evaluation.prefix.graphs import StepGraphs

# Where shapes are static, entries come in multiples of this.
STATIC_ENTRIES = 128


@dataclass(frozen=True)
class RowShape:
    rows: int
    own: int  # entries of a row
    start: int  # entries that all rows share


class _AnswerLayer(DynamicLayer):
    def __init__(self, read: DynamicLayer, shape: RowShape, lengths: torch.Tensor):
        super().__init__()
        self.is_initialized = True
        self.read, self.lengths = read, lengths
        self.seen = 0  # entries of a row that a step looks at
        assert read.keys is not None and read.values is not None
        # Zeros: whatever lies in entries that are masked must be a number.
        self.keys, self.values = (
            x.new_zeros(shape.rows, x.shape[1], shape.own, x.shape[-1])
            for x in (read.keys, read.values)
        )
        self.start_keys, self.start_values = (
            x.new_zeros(x.shape[1], shape.start, x.shape[-1]) for x in (read.keys, read.values)
        )

    def update(self, key_states, value_states, *args, **kwargs):
        width, heads = key_states.shape[:2]
        own = self.keys.shape[2]
        lengths = self.lengths[:width].to(self.keys.device)
        firsts = own * torch.arange(width * heads, device=self.keys.device)
        places = firsts + lengths.repeat_interleave(heads)
        for buffer, new in ((self.keys, key_states), (self.values, value_states)):
            # By one index, the first: PyTorch's deterministic kernel for GPUs copies all else.
            flat = buffer.view(-1, buffer.shape[-1])
            flat.index_copy_(0, places, new.reshape(-1, buffer.shape[-1]))
        return self.keys[:width, :, : self.seen], self.values[:width, :, : self.seen]

    def get_seq_length(self) -> int:
        return self.seen


class AnswerCache(Cache):
    """With a layer for each that the model has filled in while it read."""

    def __init__(self, read: TreeCache, shape: RowShape, lengths: torch.Tensor):
        layers = [
            _AnswerLayer(layer, shape, lengths) if layer.is_initialized else layer
            for layer in read.layers
        ]
        super().__init__(layers=layers)
        self.filled = [layer for layer in layers if isinstance(layer, _AnswerLayer)]
        self.current: _AnswerLayer

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        self.current = self.layers[layer_idx]  # attention follows at once
        return super().update(key_states, value_states, layer_idx, *args, **kwargs)


class AnswerRows:
    def __init__(self, model, read: TreeCache, shape: RowShape, *, static: bool):
        self.model, self.shape, self.static = model, shape, static  # a CausalModel
        device = torch.device(model.device)
        # Of each row the token to run, and its own entries so far and at most.
        self._state = torch.zeros(3, shape.rows, dtype=torch.long, device=device)
        self.cache = AnswerCache(read, shape, self._state[1])
        self._start = torch.zeros((), dtype=torch.long, device=device)
        alone = all(layer.keys.device == device for layer in self.cache.filled)
        self._graphs = StepGraphs(model) if static and alone and device.type == "cuda" else None

    def fill_start(self, entries: np.ndarray, read: TreeCache) -> None:
        """Copy what all rows share from these entries of what was read."""
        self._start.fill_(len(entries))
        for layer, source in self._pairs(read):
            layer.start_keys[:, : len(entries)] = source.keys[0][:, entries]
            layer.start_values[:, : len(entries)] = source.values[0][:, entries]

    def fill(
        self, row: int, entries: np.ndarray, token: int, new_tokens: int, read: TreeCache
    ) -> None:
        """Copy the rest of a prompt, and set the token to run behind it."""
        for layer, source in self._pairs(read):
            layer.keys[row, :, : len(entries)] = source.keys[0][:, entries]
            layer.values[row, :, : len(entries)] = source.values[0][:, entries]
        # The last token of an answer is not read.
        state = [token, len(entries), len(entries) + max(new_tokens - 2, 0)]
        self._state[:, row] = torch.tensor(state, device=self._state.device)

    def _pairs(self, read: TreeCache):
        sources = [layer for layer in read.layers if layer.is_initialized]
        return zip(self.cache.filled, sources, strict=True)

    def move(self, source: int, target: int) -> None:
        """Let a row stand where another has ended."""
        for layer in self.cache.filled:
            layer.keys[target] = layer.keys[source]
            layer.values[target] = layer.values[source]
        self._state[:, target] = self._state[:, source]

    def set_tokens(self, tokens: list[int]) -> None:
        """Set what the first rows are to run, where it is not the likeliest token."""
        self._state[0, : len(tokens)] = torch.tensor(tokens, device=self._state.device)

    def run(self, rows: int, longest: int, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Run so many steps of the first rows, the longest of which has so many entries.

        Returns the likeliest token of each row at each step, and the logits of the last step.
        """
        width, seen = rows, longest + steps
        if self.static:
            width = min(1 << (rows - 1).bit_length(), self.shape.rows)
            seen = _round_up(seen)
        seen = min(seen, self.shape.own)
        for layer in self.cache.filled:
            layer.seen = seen
        likeliest = []
        for _ in range(steps):
            if self._graphs is None:
                logits = self._step(width, seen)
            else:
                logits = self._graphs.run(
                    (width, seen), lambda: self._step(width, seen), self._state
                )
            self.model.tokens_run += width
            likeliest.append(self._state[0, :rows].clone())
        return torch.stack(likeliest), logits[:rows]

    def _step(self, width: int, seen: int) -> torch.Tensor:
        """Run the token of each of the first rows; its likeliest successor is run next."""
        ids, lengths, limits = self._state[:, :width]
        of_start = torch.arange(self.shape.start, device=ids.device).expand(width, -1)
        own = torch.arange(seen, device=ids.device).expand(width, -1)
        visible = torch.cat([of_start < self._start, own <= lengths[:, None]], dim=1)
        depths = torch.cat([of_start, own + self._start], dim=1)
        logits = self.model.one_more(
            ids, lengths + self._start, visible, depths, self.cache, bool(self.shape.start)
        )
        ids.copy_(logits.argmax(-1))
        # A row that has ended goes on in place, for nothing.
        lengths.copy_(torch.minimum(lengths + 1, limits))
        return logits


def get_row_shape(rows: int, own: int, start: int, static: bool) -> RowShape:
    return (
        RowShape(rows, _round_up(own), _round_up(start)) if static else RowShape(rows, own, start)
    )


def _round_up(entries: int) -> int:
    return -(-entries // STATIC_ENTRIES) * STATIC_ENTRIES
