"""The number format of the calculations."""

from contextlib import AbstractContextManager, nullcontext

import torch

from workflow_scripts.hub.load import choose_best_dtype


def choose_precision(wanted: str, device: str) -> str:
    """Return float32 or bfloat16; what is trained is kept in float32 in either case."""
    return choose_best_dtype(device) if wanted == "auto" else wanted


def autocast_to(precision: str, device: str) -> AbstractContextManager:
    """Run a forward pass with products in this format, sums and losses in float32."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(torch.device(device).type, dtype=getattr(torch, precision))
