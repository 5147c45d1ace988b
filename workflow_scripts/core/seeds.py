"""Derive seeds from names, so that they do not depend on the order of execution."""

import hashlib
import random
from contextlib import AbstractContextManager
from typing import Any


def derive_seed(seed: int, *names: object) -> int:
    """Derive a 63-bit seed from a seed and names, e.g. derive_seed(config.seed, 'train', model)."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def seed_everything(seed: int, device: str) -> None:
    """Seed Python, NumPy and PyTorch; on a CPU also enable PyTorch's deterministic kernels.

    Deterministic kernels of a GPU slow down the evaluations that follow, and still do not give equal bytes.
    """
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(device == "cpu", warn_only=True)
    # By default, deterministic mode fills every new tensor with NaN: a debugging aid that changes no result.
    torch.utils.deterministic.fill_uninitialized_memory = False


def isolate_rng(device: Any) -> AbstractContextManager:
    """Restore PyTorch's random state of the CPU and of `device` when the block ends.

    Without a device PyTorch saves the state of all visible GPUs, with a warning.
    """
    import torch

    return torch.random.fork_rng([device] if device.type == "cuda" else [])
