"""What work on one model takes on the machine that the config names: seconds, and memory."""

# ruff: noqa: B019  (what methods remember lives as long as the process: so does the one planner in it)

import math
from collections.abc import Sequence
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.arithmetic import (
    BYTES_OF_TRAINED,
    CUDA_MB,
    DEVICE_MB,
    LIBRARIES_MB,
    MB,
    Method,
    Size,
    Speed,
    evaluation_bytes,
    generating_seconds,
    reading_seconds,
    together_seconds,
    trained_share,
    training_bytes,
    training_seconds,
)
from workflow_scripts.planning.gpu_report import gpu_report
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.spent import Spent
from workflow_scripts.planning.together import (
    ROW_ON_A_CPU,
    SHARE_OF_ADAPTERS,
    Steps,
    rows_together,
)
from workflow_scripts.planning.work import Amount
from workflow_scripts.settings.compute import runs_on_gpus
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.training_keys import TrainingKeys

START = 12  # seconds, of a job before its model is read
# Tokenising, requests, scoring and writing, of one item.
_ITEM_SECONDS = 0.006
# The longest row of a training over the mean one: samples of a task are of many lengths.
_LONGEST_ROW = 2


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
        self._measured = gpu_report(settings.cluster, settings.devices)

    @cache
    def size(self, checkpoint: str) -> Size:
        return Size.of(self._settings.model(CheckpointId.parse(checkpoint).model))

    @cache
    def _speed(self, dtype: str) -> Speed:
        cluster, devices = self._cluster, self._settings.devices
        if not self.on_gpu:
            return Speed.of_cpu(devices["cpu"], dtype, self._compute.threads)
        gpu = devices[cluster.gpu]
        if self._measured is not None:
            return self._measured.speed(gpu, dtype)
        return Speed.of_gpu(
            gpu,
            dtype,
            reading=cluster.reading_use,
            training=cluster.training_use,
            generating=cluster.generating_use,
        )

    # ----- seconds ----------------------------------------------------------------------------------

    def loading(self, checkpoint: str, start: float = START) -> Spent:
        """The start of a job, and the weights once."""
        return Spent(starting=start) + self.reading_weights(checkpoint)

    def reading_weights(self, checkpoint: str) -> Spent:
        megabytes = self.size(checkpoint).weights("bfloat16") / MB
        return Spent(loading=megabytes / self._cluster.disk_mb_per_second)

    def reading(
        self, checkpoint: str, items: float, length: float, rows: int | None = None
    ) -> Spent:
        passes = items / (rows or self._compute.batch_size)
        return Spent(reading=self._reading(checkpoint, items * length, passes))

    def _reading(self, checkpoint: str, tokens: float, passes: float) -> float:
        dtype = self._compute.dtype
        return reading_seconds(self.size(checkpoint), self._speed(dtype), dtype, tokens, passes)

    def generating(self, checkpoint: str, tokens: float, rows: float = 1) -> Spent:
        dtype = self._compute.dtype
        return Spent(
            generating=generating_seconds(
                self.size(checkpoint), self._speed(dtype), dtype, tokens, rows
            )
        )

    def measuring(self, checkpoint: str, work: Amount) -> Spent:
        batches = math.ceil(work.items / self._compute.batch_size)
        asked = Spent(
            handling=work.items * _ITEM_SECONDS,
            reading=self._reading(checkpoint, work.tokens, batches),
        )
        rows = work.items / max(1, batches)
        return asked + self.generating(checkpoint, batches * work.new_tokens, rows)

    def windows(self, checkpoint: str, tokens: float) -> Spent:
        return self.reading(checkpoint, tokens / self._measures.stride, self._measures.window)

    def training(self, checkpoint: str, keys: TrainingKeys, items: float, tokens: float) -> Spent:
        """All epochs; how many go through at once decides how often weights are read and layers launched."""
        rows = self._micro_batch(keys)
        dtype = self._training_dtype(keys)
        seconds = training_seconds(
            self.size(checkpoint),
            self._speed(dtype),
            _method(keys),
            dtype,
            keys.epochs * tokens,
            keys.epochs * items / rows / keys.gpus,
            checkpointed=self._checkpoints(checkpoint, keys, rows * tokens / max(1, items)),
            gpus=keys.gpus,
        )
        return Spent(training=seconds)

    def training_together(
        self,
        checkpoint: str,
        keys: TrainingKeys,
        trainings: Sequence[tuple[float, float]],
        at_once: int,
        length: int,
    ) -> Spent | None:
        """The items and tokens of an epoch of each, if at most so many share a step.

        None where memory has no room for a row of the longest sample, `length`, and they cannot.
        """
        fitting, row = self._fitting(checkpoint, keys, at_once)
        if row < length:
            return None
        steps = [
            Steps(
                keys.epochs * math.ceil(items / keys.batch_size), keys.batch_size * tokens / items
            )
            for items, tokens in trainings
        ]
        dtype = self._training_dtype(keys)
        seconds = together_seconds(
            self.size(checkpoint),
            self._speed(dtype),
            _method(keys),
            dtype,
            keys.epochs * sum(tokens for _, tokens in trainings),
            rows_together(steps, fitting, row),
            sum(one.count for one in steps),
        )
        return Spent(training=seconds)

    def _fitting(self, checkpoint: str, keys: TrainingKeys, at_once: int) -> tuple[int, float]:
        """How many of so many trainings share a step, and how many tokens a row then holds."""
        if not self.on_gpu:
            return at_once, ROW_ON_A_CPU
        size, method, dtype = self.size(checkpoint), _method(keys), self._compute.dtype
        bare, token = (
            training_bytes(size, method, dtype, tokens, keys.lora_rank) for tokens in (0, 1)
        )
        adapter = self._adapter_bytes(checkpoint, keys)
        held = self._settings.devices[self._cluster.gpu].memory_gb * 1_000 - DEVICE_MB
        room = max(0.0, held * MB - size.weights(dtype))
        fitting = max(1, min(at_once, int(SHARE_OF_ADAPTERS * room / adapter)))
        return fitting, (room - fitting * adapter) / (token - bare)

    def _adapter_bytes(self, checkpoint: str, keys: TrainingKeys) -> int:
        """Of what is trained in place of a model's weights, with what its training keeps of it."""
        share = trained_share(_method(keys), keys.lora_rank)
        return int(self.size(checkpoint).parameters * share) * BYTES_OF_TRAINED

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
        held = self._settings.devices[self._cluster.gpu].memory_gb * 1_000
        needed = self._training_mb(checkpoint, keys, longest, checkpointed=False)
        return needed + DEVICE_MB > held

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

    def evaluated(self, checkpoint: str, spent: Spent, work: list[Amount]) -> Need:
        size, dtype = self.size(checkpoint), self._compute.dtype
        length = max((one.length for one in work), default=100)
        device = evaluation_bytes(size, dtype, self._compute.batch_size, length) // MB
        return Need(
            spent.seconds,
            self._host_mb(size.weights(dtype), device),
            gpus=int(self.on_gpu),
            gpu_mb=(device + DEVICE_MB) * self.on_gpu,
            disk_mb=max(1, sum(one.items for one in work) // 1_000),
            tokens=int(sum(one.tokens for one in work)),
            parts=spent.parts,
        )

    def trained(
        self,
        checkpoint: str,
        keys: TrainingKeys,
        spent: Spent,
        tokens: int,
        length: int,
        at_once: int = 1,
    ) -> Need:
        """Its memory is the least that does: one sample at a time, calculated twice where that may be.

        Of trainings that share their steps a GPU takes as many as it has room for, and a processor all.
        """
        shares = at_once > 1 and not self.on_gpu
        length = max(length, ROW_ON_A_CPU) if shares else length
        size, dtype = self.size(checkpoint), self._compute.dtype
        twice = keys.gradient_checkpointing == "yes"
        twice = twice or (keys.gradient_checkpointing == "auto" and self.on_gpu)
        device = self._training_mb(checkpoint, keys, length, checkpointed=twice)
        if shares:
            device += (at_once - 1) * self._adapter_bytes(checkpoint, keys) // MB
        gpus = keys.gpus if self.on_gpu else 0
        trained = size.parameters * trained_share(_method(keys), keys.lora_rank)
        kept = 2 * int(trained * 12) + size.weights(dtype)  # two states, and the result
        return Need(
            spent.seconds,
            self._host_mb(size.weights(dtype) * max(1, keys.gpus), device),
            gpus=gpus,
            gpu_mb=(device + DEVICE_MB) * bool(gpus),
            disk_mb=math.ceil(kept / MB),
            tokens=tokens,
            parts=spent.parts,
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
