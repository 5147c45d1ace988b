"""Seeds that depend on names, never on the order in which things happen to run."""

import hashlib
import random
from contextlib import AbstractContextManager
from typing import Any


def derive_seed(seed: int, *names: object) -> int:
    """A 63-bit seed for one purpose, e.g. derive_seed(config.seed, 'train', model)."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def seed_everything(seed: int, device: str = "cpu") -> None:
    """Seed Python, NumPy and PyTorch alike; on a CPU also ask PyTorch for deterministic kernels.

    Those of a GPU cost time in the evaluations that follow, and do not give equal bytes either.
    """
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(device == "cpu", warn_only=True)
    # Else every new tensor is filled with NaN, which helps to find errors and changes no result.
    torch.utils.deterministic.fill_uninitialized_memory = False


def isolate_rng(device: Any) -> AbstractContextManager:
    """Restore the random state of PyTorch on a CPU and on this device when the block ends.

    Not told a device, PyTorch keeps the numbers of all GPUs that it sees, and warns of that.
    """
    import torch

    return torch.random.fork_rng([device] if device.type == "cuda" else [])
