"""The most memory that tensors held at once, beside what was there before."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class PeakMemory(TorchDispatchMode):
    """Follows every tensor that a CPU operation makes; slow, for tests and the bench.

        with PeakMemory() as peak: ...
        peak.bytes

    What kernels allocate for themselves and free before they return is not seen.
    """

    def __init__(self):
        super().__init__()
        self.bytes = self._now = 0
        self._seen: set[int] = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        # What is handed in was there before, unless it has been seen being made.
        inputs = {
            _get_storage_key(t) for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)
        }
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._follow(tensor, inputs)
        return result

    def _follow(self, tensor: torch.Tensor, inputs: set[int]) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._seen or key in inputs:
            return
        size = storage.nbytes()
        self._seen.add(key)
        self._now += size
        self.bytes = max(self.bytes, self._now)
        weakref.finalize(storage, self._release, key, size)

    def _release(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self._now -= size


def _get_storage_key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
