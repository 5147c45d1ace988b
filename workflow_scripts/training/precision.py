"""The number format of the calculations, and other choices that depend on the machine."""

import torch

# Dense bfloat16 FLOP per second, from the makers' data sheets; by a part of the name PyTorch gives.
_PEAK_FLOPS = {
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "A100": 312e12,
    "A40": 149.7e12,
    "L40S": 362e12,
    "A6000": 154.8e12,
}
_LARGE = 3_000_000_000


def choose_precision(wanted: str, device: str) -> str:
    """float32 or bfloat16; what is trained is kept in float32 in either case."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if device == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def choose_checkpointing(wanted: str, model) -> bool:
    if wanted != "auto":
        return wanted == "yes"
    return model.device.type == "cuda" and sum(p.numel() for p in model.parameters()) >= _LARGE


def peak_flops(device: torch.device) -> float | None:
    """What the GPU could do in bfloat16, or None where that is not known."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for part, flops in _PEAK_FLOPS.items() if part in name), None)
