"""A note of how large tensors get."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Largest(TorchDispatchMode):
    """The largest tensor that anything made."""

    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), kwargs=None):
        result = function(*arguments, **kwargs or {})
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.elements = max(self.elements, tensor.untyped_storage().nbytes() // 4)
        return result
