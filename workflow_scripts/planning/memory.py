"""What a model's work takes of memory: the numbers that planning, the engine and training share.

Nothing here imports PyTorch or the config, so that whoever counts bytes can have it.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

MB = 1_000_000
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
_QUANTIZED_BYTES = {"8bit": 1.0, "4bit": 0.5}
# Python, PyTorch and a harness; with a GPU also CUDA's libraries; on the GPU, CUDA's context and what
# the allocator keeps.
LIBRARIES_MB, CUDA_MB, DEVICE_MB = 1_500, 5_000, 1_500
# Tensors as wide as a layer that live at once while it runs forward; and of a row of logits: itself, and what a
# model makes of it that caps or scales its logits.
_LIVE_ACTIVATIONS, _COPIES_OF_LOGITS = 8, 2
# Of a trained parameter in float32: its gradient and AdamW's two moments; and with itself.
BESIDE_TRAINED, OF_TRAINED = 12, 16
# Tokens of a row that trainings share on a CPU, whose caches a longer one does not fit, and where nobody can
# measure memory; of a GPU's memory beside the weights, what their adapters may take.
ROW_ON_A_CPU, _SHARE_OF_ADAPTERS = 1_024, 0.5
# What autograd keeps of a layer for each token and unit of width under autocast, measured on Qwen2 and
# GPT-NeoX by torch.autograd.graph.saved_tensors_hooks: 38 to 59 bytes, with adapters everywhere 67 to 92.
_KEPT_OF_A_LAYER = {"full": 60, "freeze": 60, "lora": 95, "lora_in_some": 70}

# Of adapters, whether all linear layers have one or a few, as in the published grid.
Method = Literal["full", "freeze", "lora", "lora_in_some"]


@dataclass(frozen=True)
class Size:
    """A model's size, as far as one can tell without the model."""

    parameters: int
    layers: int
    vocabulary: int

    @property
    def width(self) -> int:
        """The hidden state's: a layer has about twelve times its square in parameters."""
        return math.ceil(math.sqrt(self.parameters / (12 * self.layers)))

    def weights(self, dtype: str) -> int:
        return self.parameters * BYTES[dtype]

    def trained(self, method: Method, rank: int) -> int:
        """How many of the parameters are trained, or adapters have instead."""
        adapters = {"lora": 0.001 * rank, "lora_in_some": 0.0003 * rank}
        return int(self.parameters * ({"full": 1.0, "freeze": 0.6} | adapters)[method])


def token_bytes(width: int, item: int) -> int:
    """Of one token while a model reads, in numbers of so many bytes."""
    return _LIVE_ACTIVATIONS * width * item


def logit_bytes(vocabulary: int, item: int) -> int:
    """Of one row of logits that a model gives."""
    return _COPIES_OF_LOGITS * vocabulary * item


def room_on(device: Any) -> int | None:
    """Of a GPU, what nobody has and what PyTorch keeps without using it; None where it is no GPU."""
    import torch

    if torch.device(device).type != "cuda":
        return None
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def adapters_at_once(wanted: int, room: float, adapter: int) -> int:
    """How many of the adapters, each with what its training keeps, leave the rows their share of the room."""
    return max(1, min(wanted, int(_SHARE_OF_ADAPTERS * room) // adapter))


def evaluation_bytes(size: Size, dtype: str, batch: int, length: int) -> int:
    """On the device: weights, and what the largest block holds, whose size follows what is free."""
    item = BYTES[dtype]
    row = length * token_bytes(size.width, item) + logit_bytes(size.vocabulary, item)
    return size.weights(dtype) + batch * row


def training_bytes(
    size: Size,
    method: Method,
    dtype: str,
    tokens: int,
    rank: int = 8,
    *,
    checkpointed: bool = False,
) -> int:
    """On all devices together: the weights, what their training keeps, and a row of so many tokens.

    Checkpointed, one layer's activations are there at once, and the input of each.
    """
    trained = size.trained(method, rank)
    frozen = size.parameters - (0 if method.startswith("lora") else trained)
    layers = 1 if checkpointed else size.layers
    activations = tokens * size.width * (_KEPT_OF_A_LAYER[method] * layers + 2 * size.layers)
    logits = tokens * size.vocabulary * 6  # in 16 bits, and in 32 for the loss
    return trained * OF_TRAINED + frozen * BYTES[dtype] + activations + logits


def submitted_mb(parameters: int, dtype: str, *, trains: bool, is_delta: bool = False) -> int:
    """A stranger's model, of which the size alone is known: twice its weights, and the libraries.

    In training they are there in four bytes more. A delta and its base are added in float32.
    """
    known = BYTES | _QUANTIZED_BYTES
    size = (2 * BYTES["float32"] if is_delta else known[dtype] * 2) + (4 if trains else 0)
    return int(2 * LIBRARIES_MB + parameters * size / MB)
