"""A key-value cache of fixed size whose entries can be dropped, for one row of packed tokens."""

from functools import partial

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer


class _TreeLayer(DynamicLayer):
    """Keys and values in a buffer that is allocated once, so that growing copies nothing."""

    def __init__(self, capacity: int):
        super().__init__()
        self.capacity, self.used = capacity, 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = self._buffer(key_states)
        self.values = self._buffer(value_states)
        self.is_initialized = True

    def _buffer(self, like: torch.Tensor) -> torch.Tensor:
        batch, heads, _, width = like.shape
        return like.new_empty(batch, heads, self.capacity, width)

    def update(self, key_states, value_states, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.used + key_states.shape[-2]
        self.keys[:, :, self.used : end] = key_states
        self.values[:, :, self.used : end] = value_states
        self.used = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_seq_length(self) -> int:
        return self.used

    def keep(self, slots: torch.Tensor, unmoved: int) -> None:
        """Keep these entries, in order, of which the first `unmoved` are where they belong."""
        if not self.is_initialized:
            return
        moved = slots[unmoved:].to(self.keys.device)
        self.used = len(slots)
        if len(moved):
            self.keys[:, :, unmoved : self.used] = self.keys[:, :, moved]
            self.values[:, :, unmoved : self.used] = self.values[:, :, moved]


class TreeCache(DynamicCache):
    """As many layers as the model fills in: a pruned or chunked model has fewer than its config."""

    def __init__(self, capacity: int):
        super().__init__()
        self.capacity = capacity
        self.layer_class_to_replicate = partial(_TreeLayer, capacity)

    @property
    def used(self) -> int:
        return max((layer.used for layer in self.layers), default=0)

    def keep(self, slots: torch.Tensor) -> None:
        """Drop all entries but these; they end up side by side at the start."""
        places = torch.arange(len(slots))
        moved = torch.nonzero(slots != places)
        unmoved = int(moved[0]) if len(moved) else len(slots)
        for layer in self.layers:
            layer.keep(slots, unmoved)

    @property
    def bytes(self) -> int:
        return sum(
            buffer.numel() * buffer.element_size()
            for layer in self.layers
            if layer.is_initialized
            for buffer in (layer.keys, layer.values)
        )
