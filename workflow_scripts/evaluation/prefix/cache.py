"""Define key-value caches of a fixed size: for a packed row whose entries can be dropped, and for rows of answers."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer


class _BufferLayer(DynamicLayer):
    """Keys and values in a preallocated buffer, so that appending needs no copy."""

    def __init__(self, capacity: int):
        super().__init__()
        self.capacity = capacity
        self.used = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys, self.values = (
            states.new_empty(1, states.shape[1], self.capacity, states.shape[-1])
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def update(self, key_states, value_states, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        rows, end = len(key_states), self.used + key_states.shape[-2]
        self.keys[:rows, :, self.used : end] = key_states
        self.values[:rows, :, self.used : end] = value_states
        self.used = end
        return self.keys[:rows, :, :end], self.values[:rows, :, :end]

    def get_seq_length(self) -> int:
        return self.used


class TreeCache(DynamicCache):
    """A cache that creates layers on demand: a pruned or chunked model uses fewer than its config states."""

    def __init__(self, capacity: int):
        super().__init__()
        self.capacity = capacity
        self.layer_class_to_replicate = partial(_BufferLayer, capacity)

    @property
    def filled_layers(self) -> list[_BufferLayer]:
        return [layer for layer in self.layers if layer.is_initialized]

    def keep(self, entries: torch.Tensor) -> None:
        """Keep only these entries (ascending) and move them to the start of the buffer."""
        moved = entries[entries != torch.arange(len(entries))]
        first = len(entries) - len(moved)  # the entries before are in their places already
        for layer in self.filled_layers:
            layer.used = len(entries)
            if len(moved):
                source = moved.to(layer.keys.device)
                layer.keys[:, :, first : layer.used] = layer.keys[:, :, source]
                layer.values[:, :, first : layer.used] = layer.values[:, :, source]

    @property
    def bytes(self) -> int:
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in self.filled_layers)


@dataclass(frozen=True)
class RowShape:
    """The rows of a batch of answers, in cache entries (tokens)."""

    rows: int
    prefix_length: int  # entries shared by all rows
    prompt_length: int  # further entries of the longest prompt; others are padded on the left
    capacity: int  # entries of a row besides the prefix


class _RowLayer(_BufferLayer):
    """The keys and values of one layer: the shared prefix, and a row for each answer."""

    def __init__(self, source: _BufferLayer, shape: RowShape, prefix: np.ndarray):
        super().__init__(shape.capacity)
        self.is_initialized = True
        self.used = shape.prompt_length
        # Zeros, because masked entries must be finite.
        self.keys, self.values = (
            buffer.new_zeros(shape.rows, buffer.shape[1], shape.capacity, buffer.shape[-1])
            for buffer in (source.keys, source.values)
        )
        self.prefix = source.keys[0][:, prefix], source.values[0][:, prefix]


class RowCache(Cache):
    """Keys and values of the answers that are decoded together, one row each."""

    current: _RowLayer  # the layer updated last; its attention runs directly after

    def __init__(self, source: TreeCache, shape: RowShape, prefix: np.ndarray):
        """Allocate rows for each filled layer of `source`, and copy the entries `prefix` that all rows share."""
        super().__init__(
            layers=[
                _RowLayer(layer, shape, prefix) if layer.is_initialized else layer
                for layer in source.layers
            ]
        )
        self._row_layers = [layer for layer in self.layers if isinstance(layer, _RowLayer)]
        self.prefix_length = shape.prefix_length

    @property
    def used(self) -> int:
        """The entries of a row that are in use, without the shared prefix."""
        return self._row_layers[0].used

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        self.current = self.layers[layer_idx]
        return super().update(key_states, value_states, layer_idx, *args, **kwargs)

    def fill_row(self, row: int, entries: np.ndarray, source: TreeCache) -> None:
        """Copy the entries of a prompt after the shared prefix into a row."""
        for layer, source_layer in zip(self._row_layers, source.filled_layers, strict=True):
            target = slice(layer.used - len(entries), layer.used)
            layer.keys[row, :, target] = source_layer.keys[0][:, entries]
            layer.values[row, :, target] = source_layer.values[0][:, entries]

    def move_row(self, source: int, target: int) -> None:
        for layer in self._row_layers:
            layer.keys[target] = layer.keys[source]
            layer.values[target] = layer.values[source]
