"""Memory of models: the numbers that planning and loading share, without PyTorch."""

from typing import Any

MB = 1_000_000
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
_QUANTIZED_BYTES = {"8bit": 1.0, "4bit": 0.5}
LIBRARIES_MB = 1_500  # Python, PyTorch and a harness
# Of a trained parameter in float32: itself, its gradient and AdamW's two moments.
OF_TRAINED = 16


def get_free_memory(device: Any) -> int | None:
    """Get the free memory of a GPU, with what PyTorch holds without using it; None of a CPU."""
    import torch

    if torch.device(device).type != "cuda":
        return None
    reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + reserved


def estimate_submitted_mb(
    parameters: int, dtype: str, *, trains: bool, is_delta: bool = False
) -> int:
    """Estimate the memory of a model of which the size alone is known: twice its weights, and the libraries.

    In training they are there in four bytes more. A delta and its base are added in float32.
    """
    bytes_of = BYTES | _QUANTIZED_BYTES
    size = (2 * BYTES["float32"] if is_delta else bytes_of[dtype] * 2) + (4 if trains else 0)
    return int(2 * LIBRARIES_MB + parameters * size / MB)
