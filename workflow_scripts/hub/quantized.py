"""Weights of eight or four bits: quantised by bitsandbytes while they are loaded, on a GPU."""

from importlib.util import find_spec
from typing import Any

from workflow_scripts.core.errors import UserError

_LIBRARY = "bitsandbytes"


def quantization(precision: str, device: str) -> dict[str, Any]:
    """What from_pretrained is told: the library's own settings, LLM.int8() and FP4, and float16 beside."""
    if device != "cuda":
        raise UserError(
            f"The precision {precision} needs a GPU, and this job has none; run it where there is one, or"
            " ask for float32, bfloat16 or float16."
        )
    if find_spec(_LIBRARY) is None:
        raise UserError(
            f"The precision {precision} needs {_LIBRARY}, which is not installed here; its version stands"
            " in envs/requirements-gpu.txt."
        )
    import torch
    from transformers import BitsAndBytesConfig

    in_bits: dict[str, Any] = (
        {"load_in_8bit": True}
        if precision == "8bit"
        else {"load_in_4bit": True, "bnb_4bit_compute_dtype": torch.float16}
    )
    return {"quantization_config": BitsAndBytesConfig(**in_bits), "device_map": {"": device}}
