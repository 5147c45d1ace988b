"""What work on one model takes on the machine that the config names: seconds, and memory."""

# ruff: noqa: B019  (what methods remember lives as long as the process: so does the one planner in it)

import math
from collections.abc import Sequence
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.arithmetic import (
    Speed,
    generating_seconds,
    reading_seconds,
    size_of,
    together_seconds,
    training_seconds,
)
from workflow_scripts.planning.gpu_report import gpu_report
from workflow_scripts.planning.memory import (
    CUDA_MB,
    DEVICE_MB,
    LIBRARIES_MB,
    MB,
    OF_TRAINED,
    ROW_ON_A_CPU,
    Method,
    Size,
    adapters_at_once,
    evaluation_bytes,
    training_bytes,
)
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.together import Steps, rows_together
from workflow_scripts.planning.work import Amount
from workflow_scripts.settings.compute import runs_on_gpus
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.training_keys import TrainingKeys

START = 12  # seconds, of a job before its model is read
# Tokenising, requests, scoring and writing, of one item.
_ITEM_SECONDS = 0.006
# The longest row of a training over the mean one: samples of a task are of many lengths.
_LONGEST_ROW = 2
# Of a trained parameter on disk: itself and AdamW's two moments, in each of the two states that are kept.
_STORED_OF_TRAINED = 2 * 12


def _method(keys: TrainingKeys) -> Method:
    few = keys.method == "lora" and "all-linear" not in keys.lora_targets
    return "lora_in_some" if few else keys.method


class Machine:
    """Models go by the ids of their checkpoints."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._cluster, self._compute = settings.cluster, settings.compute
        self._measures = settings.chunking.measures
        self.on_gpu = runs_on_gpus(settings)
        self._device = settings.devices[settings.cluster.gpu if self.on_gpu else "cpu"]
        self._held_mb = settings.devices[settings.cluster.gpu].memory_gb * 1_000
        self._measured = gpu_report(settings.cluster, settings.devices)

    @cache
    def size(self, checkpoint: str) -> Size:
        return size_of(self._settings.model(CheckpointId.parse(checkpoint).model))

    @cache
    def _speed(self, dtype: str) -> Speed:
        if not self.on_gpu:
            return Speed.of_cpu(self._device, dtype, self._compute.threads)
        if self._measured is not None:
            return self._measured.speed(self._device, dtype)
        return Speed.of_gpu(self._device, dtype, self._cluster)

    # ----- seconds ----------------------------------------------------------------------------------

    def loading(self, checkpoint: str, start: float = START) -> float:
        """The start of a job, and the weights once."""
        return start + self.reading_weights(checkpoint)

    def reading_weights(self, checkpoint: str) -> float:
        return self.size(checkpoint).weights("bfloat16") / MB / self._cluster.disk_mb_per_second

    def reading(
        self, checkpoint: str, items: float, length: float, rows: int | None = None
    ) -> float:
        passes = items / (rows or self._compute.batch_size)
        return self._reading(checkpoint, items * length, passes)

    def _reading(self, checkpoint: str, tokens: float, passes: float) -> float:
        dtype = self._compute.dtype
        return reading_seconds(self.size(checkpoint), self._speed(dtype), dtype, tokens, passes)

    def generating(self, checkpoint: str, tokens: float, rows: float = 1) -> float:
        dtype = self._compute.dtype
        size, speed = self.size(checkpoint), self._speed(dtype)
        return generating_seconds(size, speed, dtype, tokens, rows)

    def measuring(self, checkpoint: str, work: Amount) -> float:
        return work.items * _ITEM_SECONDS + sum(self._computing(checkpoint, work))

    def _computing(self, checkpoint: str, work: Amount) -> tuple[float, float]:
        """Reading and generating."""
        batches = math.ceil(work.items / self._compute.batch_size)
        rows = work.items / max(1, batches)
        return (
            self._reading(checkpoint, work.tokens, batches),
            self.generating(checkpoint, batches * work.new_tokens, rows),
        )

    def windows(self, checkpoint: str, tokens: float) -> float:
        return self.reading(checkpoint, tokens / self._measures.stride, self._measures.window)

    def training(self, checkpoint: str, keys: TrainingKeys, items: float, tokens: float) -> float:
        """All epochs; how many go through at once decides how often weights are read and layers launched."""
        rows = self._micro_batch(keys)
        dtype = self._training_dtype(keys)
        return training_seconds(
            self.size(checkpoint),
            self._speed(dtype),
            _method(keys),
            dtype,
            keys.epochs * tokens,
            keys.epochs * items / rows / keys.gpus,
            checkpointed=self._checkpoints(checkpoint, keys, rows * tokens / max(1, items)),
            gpus=keys.gpus,
        )

    def training_together(
        self,
        checkpoint: str,
        keys: TrainingKeys,
        trainings: Sequence[tuple[float, float]],
        at_once: int,
        length: int,
    ) -> float | None:
        """The items and tokens of an epoch of each, if at most so many share a step.

        None where memory has no room for a row of the longest sample, `length`, and they cannot.
        """
        fitting, row = self._fitting(checkpoint, keys, at_once)
        if row < length:
            return None
        batch, dtype = keys.batch_size, self._training_dtype(keys)
        steps = [
            Steps(keys.epochs * math.ceil(items / batch), batch * tokens / items)
            for items, tokens in trainings
        ]
        return together_seconds(
            self.size(checkpoint),
            self._speed(dtype),
            _method(keys),
            dtype,
            keys.epochs * sum(tokens for _, tokens in trainings),
            rows_together(steps, fitting, row),
            sum(one.count for one in steps),
        )

    def _fitting(self, checkpoint: str, keys: TrainingKeys, at_once: int) -> tuple[int, float]:
        """How many of so many trainings share a step, and how many tokens a row then holds."""
        if not self.on_gpu:
            return at_once, ROW_ON_A_CPU
        size, method, dtype = self.size(checkpoint), _method(keys), self._compute.dtype
        bare, token = (
            training_bytes(size, method, dtype, tokens, keys.lora_rank) for tokens in (0, 1)
        )
        adapter = self._trained_bytes(checkpoint, keys)
        room = max(0.0, (self._held_mb - DEVICE_MB) * MB - size.weights(dtype))
        fitting = adapters_at_once(at_once, room, adapter)
        return fitting, (room - fitting * adapter) / (token - bare)

    def _trained_bytes(self, checkpoint: str, keys: TrainingKeys) -> int:
        """Of what is trained, with what its training keeps of it."""
        return self.size(checkpoint).trained(_method(keys), keys.lora_rank) * OF_TRAINED

    def _micro_batch(self, keys: TrainingKeys) -> int:
        return keys.micro_batch_size or min(8, keys.batch_size)

    def _training_dtype(self, keys: TrainingKeys) -> str:
        auto = "bfloat16" if self.on_gpu else "float32"
        return auto if keys.precision == "auto" else keys.precision

    def _checkpoints(self, checkpoint: str, keys: TrainingKeys, row: float) -> bool:
        """Whether activations are calculated twice: where the longest rows would not fit the GPU otherwise."""
        if keys.gradient_checkpointing != "auto":
            return keys.gradient_checkpointing == "yes"
        if not self.on_gpu:
            return False
        longest = int(min(_LONGEST_ROW * row, self._micro_batch(keys) * keys.max_length))
        needed = self._training_mb(checkpoint, keys, longest, checkpointed=False)
        return needed + DEVICE_MB > self._held_mb

    def _training_mb(
        self, checkpoint: str, keys: TrainingKeys, tokens: int, *, checkpointed: bool
    ) -> int:
        """Of one device."""
        size, dtype = self.size(checkpoint), self._compute.dtype
        device = training_bytes(
            size, _method(keys), dtype, tokens, keys.lora_rank, checkpointed=checkpointed
        )
        return device // MB // (keys.gpus if keys.sharded else 1)

    # ----- jobs -------------------------------------------------------------------------------------

    def evaluated(self, checkpoint: str, seconds: float, work: list[Amount]) -> Need:
        size, dtype = self.size(checkpoint), self._compute.dtype
        length = max((one.length for one in work), default=100)
        device = evaluation_bytes(size, dtype, self._compute.batch_size, length) // MB
        computing = [self._computing(checkpoint, one) for one in work]
        generates = sum(generated - read for read, generated in computing) > 0
        return Need(
            seconds,
            self._host_mb(size.weights(dtype), device),
            gpus=int(self.on_gpu),
            gpu_mb=(device + DEVICE_MB) * self.on_gpu,
            disk_mb=max(1, sum(one.items for one in work) // 1_000),
            tokens=int(sum(one.tokens for one in work)),
            mostly=("generating" if generates else "reading") if work else None,
        )

    def trained(
        self,
        checkpoint: str,
        keys: TrainingKeys,
        seconds: float,
        tokens: int,
        length: int,
        at_once: int = 1,
    ) -> Need:
        """Its memory is the least that does: one sample at a time, calculated twice where that may be.

        Of trainings that share their steps a GPU takes as many as it has room for, and a processor all.
        """
        shares = at_once > 1 and not self.on_gpu
        length = max(length, ROW_ON_A_CPU) if shares else length
        size = self.size(checkpoint)
        weights = size.weights(self._compute.dtype)
        twice = keys.gradient_checkpointing == "yes"
        twice = twice or (keys.gradient_checkpointing == "auto" and self.on_gpu)
        device = self._training_mb(checkpoint, keys, length, checkpointed=twice)
        device += shares * (at_once - 1) * self._trained_bytes(checkpoint, keys) // MB
        gpus = keys.gpus if self.on_gpu else 0
        kept = size.trained(_method(keys), keys.lora_rank) * _STORED_OF_TRAINED + weights
        return Need(
            seconds,
            self._host_mb(weights * max(1, keys.gpus), device),
            gpus=gpus,
            gpu_mb=(device + DEVICE_MB) * bool(gpus),
            disk_mb=math.ceil(kept / MB),
            tokens=tokens,
            mostly="training",
        )

    def smallest_mb(self, checkpoint: str) -> int:
        """The GPU memory of an evaluation; how much it reads at once follows what the GPU has."""
        size, dtype = self.size(checkpoint), self._compute.dtype
        return evaluation_bytes(size, dtype, 1, 1_000) // MB + DEVICE_MB

    def _host_mb(self, weights: int, device_mb: int) -> int:
        """With a GPU the weights pass through; without one all of it happens here."""
        if self.on_gpu:
            return CUDA_MB + math.ceil(1.3 * weights / MB)
        return LIBRARIES_MB + math.ceil(weights / MB) + device_mb
