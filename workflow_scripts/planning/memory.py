"""Memory of a model's calls: the numbers that planning, the engine and training share, without PyTorch."""

from typing import Any

MB = 1_000_000
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
_QUANTIZED_BYTES = {"8bit": 1.0, "4bit": 0.5}
LIBRARIES_MB = 1_500  # Python, PyTorch and a harness
# Tensors as wide as a layer that live at once while it runs forward; and of a row of logits: itself, and what a
# model makes of it that caps or scales its logits.
_LIVE_ACTIVATIONS, _COPIES_OF_LOGITS = 8, 2
# What the engine takes of the memory that is free beside the weights, and logits of that: the rest is for tokens.
GPU_SHARE, SHARE_OF_LOGITS = 0.5, 0.25
# Tokens, or rows of logits, of a call; with fewer it would read all weights for next to nothing.
SMALLEST_BLOCK = 16
# Of a logit while its log-probability is taken: in float32, and its exponential.
_BYTES_OF_SCORED = 2 * 4
# Of a trained parameter in float32: itself, its gradient and AdamW's two moments.
OF_TRAINED = 16


def token_bytes(width: int, item: int) -> int:
    """Of one token while a model reads, in numbers of so many bytes."""
    return _LIVE_ACTIVATIONS * width * item


def logit_bytes(vocabulary: int, item: int) -> int:
    """Of one row of logits that a model gives."""
    return _COPIES_OF_LOGITS * vocabulary * item


def scored_at_once(device: str) -> int:
    """At most so many rows of logits while their log-probabilities are taken; on a GPU small pieces cost more."""
    return 32 if device == "cpu" else 1_024


def scored_bytes(rows: int, vocabulary: int, device: str) -> int:
    """What taking the log-probabilities of so many rows of logits needs."""
    return min(rows, scored_at_once(device)) * vocabulary * _BYTES_OF_SCORED


def logit_rows(budget: int, vocabulary: int, item: int, device: str) -> int:
    """How many rows of logits a call may give, log-probabilities included, of the engine's budget."""
    share, row = int(budget * SHARE_OF_LOGITS), logit_bytes(vocabulary, item)
    scored = scored_at_once(device)
    if share < scored * row + scored_bytes(scored, vocabulary, device):
        return share // (row + scored_bytes(1, vocabulary, device))
    return (share - scored_bytes(scored, vocabulary, device)) // row


def room_on(device: Any) -> int | None:
    """Of a GPU, what nobody has and what PyTorch keeps without using it; None where it is no GPU."""
    import torch

    if torch.device(device).type != "cuda":
        return None
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def submitted_mb(parameters: int, dtype: str, *, trains: bool, is_delta: bool = False) -> int:
    """A stranger's model, of which the size alone is known: twice its weights, and the libraries.

    In training they are there in four bytes more. A delta and its base are added in float32.
    """
    known = BYTES | _QUANTIZED_BYTES
    size = (2 * BYTES["float32"] if is_delta else known[dtype] * 2) + (4 if trains else 0)
    return int(2 * LIBRARIES_MB + parameters * size / MB)
