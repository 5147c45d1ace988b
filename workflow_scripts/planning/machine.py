"""What work on one model takes on the machine that the config names: seconds, and memory."""

import math
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.arithmetic import (
    CUDA_MB,
    DEVICE_MB,
    LIBRARIES_MB,
    MB,
    Size,
    Speed,
    evaluation_bytes,
    generating_seconds,
    reading_seconds,
    trained_share,
    training_bytes,
    training_seconds,
)
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.work import Amount
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.training_keys import TrainingKeys

START = 12  # seconds, of a job before its model is read
# Tokenising, requests, scoring and writing, of one item.
_ITEM_SECONDS = 0.006


class Machine:
    """Models go by the ids of their checkpoints."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._cluster, self._compute = settings.cluster, settings.compute
        self._measures = settings.chunking.measures
        self.on_gpu = settings.source != "miniature" and settings.compute.device != "cpu"
        for name in ("size", "_speed"):
            setattr(self, name, cache(getattr(self, name)))

    def size(self, checkpoint: str) -> Size:
        return Size.of(self._settings.model(CheckpointId.parse(checkpoint).model))

    def _speed(self, dtype: str) -> Speed:
        cluster = self._cluster
        return Speed.of(
            self._settings.devices[cluster.gpu if self.on_gpu else "cpu"],
            dtype,
            reading=cluster.reading_use,
            training=cluster.training_use,
            generating=cluster.generating_use,
        )

    # ----- seconds ----------------------------------------------------------------------------------

    def loading(self, checkpoint: str) -> float:
        return START + self.reading_weights(checkpoint)

    def reading_weights(self, checkpoint: str) -> float:
        return self.size(checkpoint).weights("bfloat16") / MB / self._cluster.disk_mb_per_second

    def reading(
        self, checkpoint: str, items: float, length: float, rows: int | None = None
    ) -> float:
        passes = items / (rows or self._compute.batch_size)
        speed = self._speed(self._compute.dtype)
        return reading_seconds(self.size(checkpoint), speed, items * length, passes)

    def generating(self, checkpoint: str, tokens: float) -> float:
        dtype = self._compute.dtype
        return generating_seconds(self.size(checkpoint), self._speed(dtype), dtype, tokens)

    def measuring(self, checkpoint: str, work: Amount) -> float:
        size, speed = self.size(checkpoint), self._speed(self._compute.dtype)
        batches = math.ceil(work.items / self._compute.batch_size)
        return (
            work.items * _ITEM_SECONDS
            + reading_seconds(size, speed, work.tokens, batches)
            + self.generating(checkpoint, batches * work.new_tokens)
        )

    def windows(self, checkpoint: str, tokens: float) -> float:
        return self.reading(checkpoint, tokens / self._measures.stride, self._measures.window)

    def training(self, checkpoint: str, keys: TrainingKeys, items: float, tokens: float) -> float:
        """All epochs; what goes through at once decides how often the layers' own time is paid."""
        rows = keys.micro_batch_size or min(8, keys.batch_size)
        auto = "bfloat16" if self.on_gpu else "float32"
        return training_seconds(
            self.size(checkpoint),
            self._speed(auto if keys.precision == "auto" else keys.precision),
            keys.method,
            keys.epochs * tokens,
            keys.epochs * items / rows / keys.gpus,
            keys.gpus,
        )

    # ----- jobs -------------------------------------------------------------------------------------

    def evaluated(self, checkpoint: str, seconds: float, work: list[Amount]) -> Need:
        size, dtype = self.size(checkpoint), self._compute.dtype
        length = max((one.length for one in work), default=100)
        device = evaluation_bytes(size, dtype, self._compute.batch_size, length) // MB
        return Need(
            seconds,
            self._host_mb(size.weights(dtype), device),
            gpus=int(self.on_gpu),
            gpu_mb=(device + DEVICE_MB) * self.on_gpu,
            disk_mb=max(1, sum(one.items for one in work) // 1_000),
            tokens=int(sum(one.tokens for one in work)),
        )

    def trained(
        self, checkpoint: str, keys: TrainingKeys, seconds: float, tokens: int, length: int
    ) -> Need:
        size, dtype = self.size(checkpoint), self._compute.dtype
        device = training_bytes(size, keys.method, dtype, 1, length, keys.lora_rank) // MB
        gpus = keys.gpus if self.on_gpu else 0
        trained = size.parameters * trained_share(keys.method, keys.lora_rank)
        kept = 2 * int(trained * 12) + size.weights(dtype)  # two states, and the result
        return Need(
            seconds,
            self._host_mb(size.weights(dtype) * max(1, keys.gpus), device),
            gpus=gpus,
            gpu_mb=(device // (keys.gpus if keys.sharded else 1) + DEVICE_MB) * bool(gpus),
            disk_mb=math.ceil(kept / MB),
            tokens=tokens,
        )

    def smallest_mb(self, checkpoint: str) -> int:
        """The GPU memory of an evaluation; how much it reads at once follows what the GPU has."""
        return (
            evaluation_bytes(self.size(checkpoint), self._compute.dtype, 1, 1_000) // MB + DEVICE_MB
        )

    def _host_mb(self, weights: int, device_mb: int) -> int:
        """With a GPU the weights pass through; without one all of it happens here."""
        if self.on_gpu:
            return CUDA_MB + math.ceil(1.3 * weights / MB)
        return LIBRARIES_MB + math.ceil(weights / MB) + device_mb
