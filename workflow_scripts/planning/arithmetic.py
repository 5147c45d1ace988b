"""Operations and seconds of a model's work, from its size: estimates, and how they are made.

A pass forward takes two operations for each parameter and token; one with a way back four more, two
of them for the gradients of the weights, which a frozen model does without. A pass takes no less time
than reading the weights once each way, or than its layers' kernels take to be launched: so short rows cost
more a token, and small models on a GPU wait for their launches.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workflow_scripts.planning.memory import Size, TrainingWay
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.names import find_file
from workflow_scripts.settings.tables import DeviceRow, ModelRow, Tables, read_devices

# For each parameter and token: reading it, and with a way back, whose half makes the weights' gradients.
READING_OPERATIONS, TRAINING_OPERATIONS, FROZEN_OPERATIONS = 2, 6, 4
# What a layer launches in a training step, over a pass forward; counted on Qwen2 under autocast
# (tests/unit/planning/test_launches.py counts them again).
_LAUNCHES: dict[str, float] = {"full": 3.8, "freeze": 3.8, "lora": 7.1, "lora_in_some": 4.3}
# And how often the weights are read: forward, back, and once more where it is calculated twice.
_LAUNCHES_CHECKPOINTED, _TIMES_READ = 1.45, 2
_MINIATURE_VOCABULARY, _USUAL_VOCABULARY = 2_048, 152_000
_VOCABULARY = {"GPT-2": 50_257, "Llama": 128_256, "Pythia": 50_304, "Gemma": 256_000, "Yi": 64_000}


def size_of(row: ModelRow) -> Size:
    """As far as the models table tells."""
    published = _VOCABULARY.get(row.family, _USUAL_VOCABULARY)
    vocabulary = _MINIATURE_VOCABULARY if row.source == "miniature" else published
    return Size(row.parameters, row.layers, vocabulary, row.active_parameters)


@dataclass(frozen=True)
class Speed:
    """What one device does in one number format, at the rates that are reached."""

    dtype: str
    operations: float  # a second, when a model reads
    trained_operations: float
    bandwidth: float  # bytes a second, of weights that are read
    layer: float  # seconds that a layer's kernels take to be launched in a pass forward
    is_gpu: bool = True

    @classmethod
    def of_gpu(cls, device: DeviceRow, dtype: str, cluster: Cluster) -> "Speed":
        """Shares of what its maker promises."""
        peak, bandwidth = device.peak(dtype), device.bandwidth_gb_s * 1e9
        reading, training = peak * cluster.reading_use, peak * cluster.training_use
        generating = bandwidth * cluster.generating_use
        return cls(dtype, reading, training, generating, device.layer_us * 1e-6)

    @classmethod
    def of_cpu(cls, device: DeviceRow, dtype: str, threads: int) -> "Speed":
        """The table's numbers are what one core reaches."""
        peak, bandwidth = device.peak(dtype) * threads, device.bandwidth_gb_s * 1e9
        return cls(dtype, peak, peak, bandwidth, device.layer_us * 1e-6, is_gpu=False)

    def _seconds(self, size: Size, computing: float, read: float, launched: float) -> float:
        """A GPU computes, reads so many bytes of weights and is told what comes next at once; a processor launches
        nothing while it computes. Launched are passes forward, or what comes to as much."""
        device = max(computing, read / self.bandwidth)
        launching = launched * size.layers * self.layer
        return max(device, launching) if self.is_gpu else device + launching

    def _read(self, size: Size, tokens: float, passes: float) -> float:
        """Bytes of weights, each once in a pass; of experts those that its share of the tokens goes to."""
        return passes * size.read(self.dtype, tokens / passes) if passes else 0.0

    def reading(self, size: Size, tokens: float, passes: float) -> float:
        computing = READING_OPERATIONS * size.computing * tokens / self.operations
        return self._seconds(size, computing, self._read(size, tokens, passes), passes)

    def generating(self, size: Size, tokens: float, rows: float = 1) -> float:
        """So many tokens are generated one after another, each for all rows of a batch at once."""
        return self.reading(size, tokens * rows, passes=tokens)

    def training(
        self, size: Size, way: TrainingWay, tokens: float, passes: float, *, gpus: int = 1
    ) -> float:
        """Forward and back; weights that are frozen, or adapted, need no gradients, and a teacher reads once more.

        `passes` are those of one GPU, each of which has its share of the tokens.
        """
        once_more = way.checkpointed + way.distilled
        of_weights = TRAINING_OPERATIONS - FROZEN_OPERATIONS
        operations = FROZEN_OPERATIONS + of_weights * way.trained_share
        operations += READING_OPERATIONS * once_more
        computing = operations * size.computing * tokens / self.trained_operations / gpus
        launches = _LAUNCHES[way.method] * (_LAUNCHES_CHECKPOINTED if way.checkpointed else 1)
        return self._seconds(
            size,
            computing,
            (_TIMES_READ + once_more) * self._read(size, tokens / gpus, passes),
            passes * (launches + way.distilled),
        )


def half_peak(gpu: str) -> float | None:
    """Operations a second in 16 bits, by the name that PyTorch gives a GPU; None where no row fits.

    The rows are those of the devices table: in the working directory, or beside the Snakefile.
    """
    path = find_file(Tables.model_fields["devices"].default, Path(__file__).parents[2])
    assert path is not None, "the table of devices is a part of the workflow"
    row = row_of(gpu, read_devices(path))
    return None if row is None else row.half_gflops * 1e9


def row_of(gpu: str, devices: Mapping[str, DeviceRow]) -> DeviceRow | None:
    """The row that fits a GPU best by the name that PyTorch gives it."""
    words = set(re.findall(r"\w+", gpu))
    fitting = [row for row in devices.values() if words >= set(row.device.split("-"))]
    return max(fitting, key=lambda row: row.device.count("-"), default=None)
