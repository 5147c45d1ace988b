"""Bytes, operations and seconds of a model's work, from its size: estimates, and how they are made.

A pass forward takes two operations for each parameter and token; one with a way back four more, two
of them for the gradients of the weights, which a frozen model does without. A layer takes some time
however little it computes, and generating reads all weights once for each token of a batch.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workflow_scripts.settings.names import find_file
from workflow_scripts.settings.tables import DeviceRow, ModelRow, Tables, read_devices

MB = 1_000_000
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
_QUANTIZED_BYTES = {"8bit": 1.0, "4bit": 0.5}
# Python, PyTorch and a harness; with a GPU also CUDA's libraries; on the GPU, CUDA's context and what
# the allocator keeps.
LIBRARIES_MB, CUDA_MB, DEVICE_MB = 1_500, 5_000, 1_500
# For each parameter and token: reading it, and with a way back, whose half makes the weights' gradients.
READING_OPERATIONS, TRAINING_OPERATIONS, FROZEN_OPERATIONS = 2, 6, 4
# A trained parameter in float32: itself, its gradient, and AdamW's two moments.
BYTES_OF_TRAINED = 16
# What the layers of a pass back take beside those forward; adapters take as much again.
_TIMES_BACK, _TIMES_ADAPTED = 3, 2
# From here on gradient checkpointing is on by itself (training.precision).
LARGE = 3_000_000_000
_VOCABULARY = {
    "GPT-2": 50_257,
    "Llama": 128_256,
    "Pythia": 50_304,
    "Gemma": 256_000,
    "Yi": 64_000,
}
_USUAL_VOCABULARY = 152_000
_MINIATURE_VOCABULARY = 2_048
# Of a layer without checkpointing, in 16 bits (Korthikanti et al. 2022, equation 2, without scores).
_BYTES_OF_ACTIVATION = 34

Method = Literal["full", "freeze", "lora"]


@dataclass(frozen=True)
class Size:
    """A model's size, as far as the models table tells."""

    parameters: int
    layers: int
    vocabulary: int

    @classmethod
    def of(cls, row: ModelRow) -> "Size":
        usual = _MINIATURE_VOCABULARY if row.source == "miniature" else _USUAL_VOCABULARY
        vocabulary = usual if usual < _USUAL_VOCABULARY else _VOCABULARY.get(row.family, usual)
        return cls(row.parameters, row.layers, vocabulary)

    @property
    def width(self) -> int:
        """The hidden state's: a layer has about twelve times its square in parameters."""
        return math.ceil(math.sqrt(self.parameters / (12 * self.layers)))

    def weights(self, dtype: str) -> int:
        return self.parameters * BYTES[dtype]


@dataclass(frozen=True)
class Speed:
    """What one device does in one number format, at the shares of its peak that are reached."""

    operations: float  # a second, when a model reads
    trained_operations: float
    bandwidth: float  # bytes a second, when it generates
    layer: float  # seconds

    @classmethod
    def of(cls, device: DeviceRow, dtype: str, *, reading, training, generating) -> "Speed":
        peak = (device.single_gflops if dtype == "float32" else device.half_gflops) * 1e9
        bandwidth = device.bandwidth_gb_s * 1e9
        return cls(peak * reading, peak * training, bandwidth * generating, device.layer_us * 1e-6)


def reading_seconds(size: Size, speed: Speed, tokens: float, passes: float) -> float:
    operations = READING_OPERATIONS * size.parameters * tokens
    return operations / speed.operations + passes * size.layers * speed.layer


def generating_seconds(size: Size, speed: Speed, dtype: str, tokens: float) -> float:
    """So many tokens are generated one after another, each for a whole batch."""
    return tokens * (size.weights(dtype) / speed.bandwidth + size.layers * speed.layer)


def training_seconds(
    size: Size, speed: Speed, method: Method, tokens: float, passes: float, gpus: int = 1
) -> float:
    """Forward and back; the weights of a model that is frozen, or adapted, need no gradients."""
    operations = TRAINING_OPERATIONS if method == "full" else FROZEN_OPERATIONS
    operations += READING_OPERATIONS * (size.parameters >= LARGE)  # twice, to save memory
    times = _TIMES_BACK * (_TIMES_ADAPTED if method == "lora" else 1)
    return (
        operations * size.parameters * tokens / speed.trained_operations / gpus
        + passes * size.layers * speed.layer * times
    )


def evaluation_bytes(size: Size, dtype: str, batch: int, length: int) -> int:
    """On the device: weights, and what the largest block holds, whose size follows what is free."""
    running = batch * (length * 8 * size.width + 2 * size.vocabulary) * BYTES[dtype]
    return size.weights(dtype) + running


def trained_share(method: Method, rank: int = 8) -> float:
    """Which share of the parameters is trained, as far as one can tell without the model."""
    return {"full": 1.0, "freeze": 0.6, "lora": 0.001 * rank}[method]


def training_bytes(
    size: Size, method: Method, dtype: str, rows: int, length: int, rank: int = 8
) -> int:
    """On all devices together: the weights, what their training keeps, and what one step holds."""
    trained = int(size.parameters * trained_share(method, rank))
    frozen = size.parameters - trained if method != "lora" else size.parameters
    layers = 1 if size.parameters >= LARGE else size.layers
    activations = rows * length * size.width * (_BYTES_OF_ACTIVATION * layers + 2 * size.layers)
    logits = rows * length * size.vocabulary * 6  # in 16 bits, and in 32 for the loss
    return trained * BYTES_OF_TRAINED + frozen * BYTES[dtype] + activations + logits


def submitted_mb(parameters: int, dtype: str, *, trains: bool, is_delta: bool = False) -> int:
    """A stranger's model, of which the size alone is known: twice its weights, and the libraries.

    In training they are there in four bytes more. A delta and its base are added in float32.
    """
    known = BYTES | _QUANTIZED_BYTES
    size = (2 * BYTES["float32"] if is_delta else known[dtype] * 2) + (4 if trains else 0)
    return int(2 * LIBRARIES_MB + parameters * size / MB)


def half_peak(gpu: str) -> float | None:
    """Operations a second in 16 bits, by the name that PyTorch gives a GPU; None where no row fits.

    The rows are those of the devices table: in the working directory, or beside the Snakefile.
    """
    words = set(re.findall(r"\w+", gpu))
    path = find_file(Tables.model_fields["devices"].default, Path(__file__).parents[2])
    assert path is not None, "the table of devices is a part of the workflow"
    fitting = [row for row in read_devices(path).values() if words >= set(row.device.split("-"))]
    closest = max(fitting, key=lambda row: row.device.count("-"), default=None)
    return None if closest is None else closest.half_gflops * 1e9
