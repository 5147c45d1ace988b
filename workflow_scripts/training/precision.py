"""The number format of the calculations, and other choices that depend on the machine."""

from contextlib import AbstractContextManager, nullcontext

import torch

from workflow_scripts.hub.load import best_format
from workflow_scripts.planning.device import half_peak


def choose_precision(wanted: str, device: str) -> str:
    """float32 or bfloat16; what is trained is kept in float32 in either case."""
    return best_format(device) if wanted == "auto" else wanted


def calculating_in(precision: str, device: str) -> AbstractContextManager:
    """Around a forward pass: products in this format, sums and losses in float32."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(torch.device(device).type, dtype=getattr(torch, precision))


def peak_flops(device: torch.device) -> float | None:
    """What the GPU could do in 16 bits, or None where that is not known."""
    return half_peak(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
