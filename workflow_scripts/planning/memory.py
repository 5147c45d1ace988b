"""What a model's work takes of memory: the numbers that planning, the engine and training share.

Nothing here imports PyTorch or the config, so that whoever counts bytes can have it.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
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
# The widest matrix of a layer over the hidden state: 3 to 5 in the models of the table.
_WIDEST = 5
# What the engine takes of the memory that is free beside the weights, and logits of that: the rest is for tokens.
GPU_SHARE, SHARE_OF_LOGITS = 0.5, 0.25
# Tokens, or rows of logits, of a call; with fewer it would read all weights for next to nothing.
SMALLEST_BLOCK = 16
# Of a logit while its log-probability is taken: in float32, and its exponential.
_BYTES_OF_SCORED = 2 * 4
# Of a trained parameter in float32: its gradient and AdamW's two moments; and with itself.
BESIDE_TRAINED, OF_TRAINED = 12, 16
# Of a logit in training: in 16 bits and in 32, its log-probability, and the gradients of both. And logits of a
# distilled step at once.
_BYTES_OF_TRAINED, _DISTILLED_LOGITS = 16, 1 << 24
# A teacher's logits beside them, and the log-probabilities of both at a temperature, with gradients.
_BYTES_OF_DISTILLED = 40
# Beside what is kept for going back there are gradients in the making and kernels' own buffers.
_SPARE = 1.25
_SPARE_OF_SPREAD = 1.1  # layers over several GPUs come out even on none
_MOST_TOKENS = 1 << 20  # of a row, however much memory there is
# What autograd keeps of a layer for each token and unit of width under autocast, measured on Qwen2 and
# GPT-NeoX by torch.autograd.graph.saved_tensors_hooks: 38 to 59 bytes, with adapters everywhere 67 to 92.
_KEPT_OF_A_LAYER = {"full": 60, "freeze": 60, "lora": 95, "lora_in_some": 70}
# Of a layer's linear layers that get adapters, in and out together, over the width.
_WIDTHS_OF_ADAPTED = {"lora": 20, "lora_in_some": 4}
# Of adapters, whether all linear layers have one or a few, as in the published grid.
Method = Literal["full", "freeze", "lora", "lora_in_some"]


@dataclass(frozen=True)
class Size:
    """A model's size, as far as one can tell without the model."""

    parameters: int
    layers: int
    vocabulary: int
    active: int | None = None  # the parameters that a token passes through, where those are not all

    @property
    def computing(self) -> int:
        """The parameters that are calculated with for each token."""
        return self.active or self.parameters

    @property
    def width(self) -> int:
        """The hidden state's: a layer has about twelve times its square in the parameters of a token."""
        return math.ceil(math.sqrt(self.computing / (12 * self.layers)))

    def weights(self, dtype: str) -> int:
        return self.parameters * BYTES[dtype]

    def read(self, dtype: str, tokens: float) -> float:
        """Bytes of the weights that a pass over so many tokens reads: at most, all experts."""
        return min(self.parameters, self.computing * max(1.0, tokens)) * BYTES[dtype]

    @property
    def ends(self) -> int:
        """The parameters of the embeddings, and of the output layer as many."""
        return self.vocabulary * self.width


@dataclass(frozen=True)
class TrainingWay:
    """How a model is trained, as far as memory and time follow from it."""

    method: Method
    rank: int = 8
    share: float = 0.0  # of the model's own parameters that are trained, unless all are
    checkpointed: bool = False
    distilled: bool = False  # whether a teacher's pass goes before each step

    @property
    def trained_share(self) -> float:
        return 1.0 if self.method == "full" else self.share

    def in_full(self, size: Size) -> int:
        """How many of the model's own parameters are trained."""
        return int(size.parameters * self.trained_share)

    def of_adapters(self, size: Size) -> int:
        """How many parameters the adapters have, all of which are trained."""
        return self.rank * size.layers * _WIDTHS_OF_ADAPTED.get(self.method, 0) * size.width

    def trained(self, size: Size) -> int:
        return self.in_full(size) + self.of_adapters(size)


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


def evaluation_bytes(size: Size, dtype: str, batch: int, length: int) -> int:
    """On the device: weights, and what the largest block holds, whose size follows what is free."""
    item = BYTES[dtype]
    row = length * token_bytes(size.width, item) + logit_bytes(size.vocabulary, item)
    return size.weights(dtype) + batch * row


def least_evaluation_bytes(size: Size, dtype: str, length: int, device: str = "cuda") -> int:
    """On the device: weights, and the smallest budget with which the engine reads sequences of this length."""
    item, rows = BYTES[dtype], SMALLEST_BLOCK
    widest, entries = _WIDEST * size.width, length + SMALLEST_BLOCK
    logits = rows * logit_bytes(size.vocabulary, item) + scored_bytes(rows, size.vocabulary, device)
    # Keys and values of all layers, and those of one for all heads.
    cache = entries * (2 * size.layers * size.width + 3 * widest) * item
    tokens = rows * token_bytes(widest, item) + cache
    budget = max(logits / SHARE_OF_LOGITS, tokens / (1 - SHARE_OF_LOGITS))
    return size.weights(dtype) + int(budget / GPU_SHARE)


def spread_bytes(size: Size, dtype: str, batch: int, length: int, cards: int) -> int:
    """On each of several devices that share the layers: its part and one layer more, as they do not come out even.

    Batches are those of the harness, which makes the logits of every token and their log-probabilities.
    """
    item, weights = BYTES[dtype], size.weights(dtype)
    row = length * (token_bytes(size.width, item) + logit_bytes(size.vocabulary, item))
    return int(_SPARE_OF_SPREAD * (weights // cards + weights // size.layers + batch * row))


def positions_at_once(vocabulary: int) -> int:
    """Whose logits lie in memory together in a distilled step, beside a teacher's."""
    return max(1, _DISTILLED_LOGITS // vocabulary)


def trained_logit_bytes(tokens: int, vocabulary: int, *, distilled: bool = False) -> int:
    """Of a row of so many tokens in training, which a distilled step makes piece by piece."""
    if distilled:
        tokens = min(tokens, positions_at_once(vocabulary))
    return tokens * vocabulary * (_BYTES_OF_TRAINED + _BYTES_OF_DISTILLED * distilled)


def tokens_within(room: float, needed: Callable[[int], float]) -> int:
    """The tokens of the longest row for which there is room; 0 where there is none for one."""
    return bisect_right(range(1, _MOST_TOKENS + 1), room, key=needed)


def training_bytes(size: Size, way: TrainingWay, dtype: str, tokens: int) -> dict[str, int]:
    """On one device: the weights, what their training keeps, and a row of so many tokens.

    Checkpointed, one layer's activations are there at once, and the input of each.
    """
    in_full = way.in_full(size)
    held = way.of_adapters(size) + in_full
    layers = 1 if way.checkpointed else size.layers
    activations = tokens * size.width * (_KEPT_OF_A_LAYER[way.method] * layers + 2 * size.layers)
    logits = trained_logit_bytes(tokens, size.vocabulary, distilled=way.distilled)
    return {
        "weights": held * BYTES["float32"] + (size.parameters - in_full) * BYTES[dtype],
        "gradients and moments": held * BESIDE_TRAINED,
        "activations": int(_SPARE * activations),
        "logits": int(_SPARE * logits),
    }


def submitted_mb(parameters: int, dtype: str, *, trains: bool, is_delta: bool = False) -> int:
    """A stranger's model, of which the size alone is known: twice its weights, and the libraries.

    In training they are there in four bytes more. A delta and its base are added in float32.
    """
    known = BYTES | _QUANTIZED_BYTES
    size = (2 * BYTES["float32"] if is_delta else known[dtype] * 2) + (4 if trains else 0)
    return int(2 * LIBRARIES_MB + parameters * size / MB)
