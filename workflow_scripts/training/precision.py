"""The number format of the calculations, and other choices that depend on the machine."""

import torch

from workflow_scripts.planning.arithmetic import LARGE, half_peak


def choose_precision(wanted: str, device: str) -> str:
    """float32 or bfloat16; what is trained is kept in float32 in either case."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if device == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def choose_checkpointing(wanted: str, model) -> bool:
    if wanted != "auto":
        return wanted == "yes"
    return model.device.type == "cuda" and sum(p.numel() for p in model.parameters()) >= LARGE


def peak_flops(device: torch.device) -> float | None:
    """What the GPU could do in 16 bits, or None where that is not known."""
    return half_peak(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
