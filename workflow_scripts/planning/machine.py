"""What work on one model takes on the machine that the config names: seconds, and memory."""

# ruff: noqa: B019  (what methods remember lives as long as the process: so does the one planner in it)

import math
from dataclasses import replace
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.arithmetic import Speed, size_of
from workflow_scripts.planning.gpu_report import gpu_report
from workflow_scripts.planning.memory import (
    BYTES,
    CUDA_MB,
    DEVICE_MB,
    LIBRARIES_MB,
    MB,
    Size,
    TrainingWay,
    evaluation_bytes,
    least_evaluation_bytes,
    spread_bytes,
    tokens_within,
    training_bytes,
)
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.ways import way_of
from workflow_scripts.planning.work import Amount
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.training_keys import TrainingKeys

START = 12  # seconds, of a job before its model is read
# Tokenising, requests, scoring and writing, of one item.
_ITEM_SECONDS = 0.006
# The longest sample of a training over the mean one, and the longest row of several: tasks have samples of many
# lengths.
LONGEST_SAMPLE, _LONGEST_ROW = 4, 2
_USUAL_LENGTH = 1_000  # tokens of an item, where nothing is known of the task
# Of a trained parameter on disk: itself and AdamW's two moments, in each of the two states that are kept.
_STORED_OF_TRAINED = 2 * 12


class Machine:
    def __init__(self, settings: Settings):
        self._settings, self._cluster = settings, settings.cluster
        self.compute, self.measures = settings.compute, settings.chunking.measures
        self.on_gpu = settings.on_gpus
        self._device = settings.devices[settings.cluster.gpu if self.on_gpu else "cpu"]
        self._measured = gpu_report(settings.cluster, settings.devices)
        self.gpu_mb = settings.devices[settings.cluster.gpu].memory_gb * 1_000 - DEVICE_MB
        # What auto comes to, as a job will find out on its card.
        self._auto = "bfloat16" if self.on_gpu and self._device.bfloat16 else "float32"
        self.dtype = self.number_format(settings.compute.dtype)
        self.gpus_per_node = settings.cluster.gpus_per_node
        self.disk_mb_per_second = settings.cluster.disk_mb_per_second

    def number_format(self, wanted: str) -> str:
        """Of weights that are read, or of a training's calculations."""
        return self._auto if wanted == "auto" else wanted

    @cache
    def speed(self, dtype: str) -> Speed:
        if not self.on_gpu:
            return Speed.of_cpu(self._device, dtype, self.compute.threads)
        if self._measured is not None:
            return self._measured.speed(self._device, dtype)
        return Speed.of_gpu(self._device, dtype, self._cluster)

    @cache
    def model(self, checkpoint: str) -> "PlacedModel":
        one = CheckpointId.parse(checkpoint)
        return PlacedModel(self, size_of(self._settings.model(one.model)), one)


class PlacedModel:
    """One model on the machine: how long its work takes, and what a job of it needs."""

    def __init__(self, machine: Machine, size: Size, checkpoint: CheckpointId):
        self._machine, self.size, self._compute = machine, size, machine.compute
        self._checkpoint = checkpoint
        self._weights = size.weights(machine.dtype)
        self._speed = machine.speed(machine.dtype)

    # ----- seconds ----------------------------------------------------------------------------------

    @property
    def reading_weights(self) -> float:
        return self.size.weights("bfloat16") / MB / self._machine.disk_mb_per_second

    def loading(self, start: float = START) -> float:
        """The start of a job, and the weights once."""
        return start + self.reading_weights

    def reading(self, items: float, length: float, rows: int | None = None) -> float:
        passes = items / (rows or self._compute.batch_size)
        return self._speed.reading(self.size, items * length, passes)

    def generating(self, tokens: float, rows: float = 1) -> float:
        return self._speed.generating(self.size, tokens, rows)

    def windows(self, tokens: float) -> float:
        measures = self._machine.measures
        return self.reading(tokens / measures.stride, measures.window)

    def measuring(self, work: Amount) -> float:
        batches = math.ceil(work.items / self._compute.batch_size)
        rows = work.items / max(1, batches)
        read = self._speed.reading(self.size, work.tokens, batches)
        generated = self.generating(batches * work.new_tokens, rows)
        return work.items * _ITEM_SECONDS + (read + generated)

    def training(self, keys: TrainingKeys, items: float, tokens: float) -> float:
        """All epochs; how many go through at once decides how often weights are read and layers launched."""
        rows, mean = float(_micro_batch(keys)), tokens / max(1, items)
        checkpointed, within = self._checkpoints(keys, mean)
        if not checkpointed and within:  # longer rows are cut apart
            rows = max(1.0, min(rows, within / max(1, mean)))
        return self._training_speed(keys).training(
            self.size,
            self._way(keys, checkpointed),
            keys.epochs * tokens,
            keys.epochs * items / rows / keys.gpus,
            gpus=keys.gpus,
        )

    def _training_speed(self, keys: TrainingKeys) -> Speed:
        return self._machine.speed(self._machine.number_format(keys.precision))

    def _row(self, keys: TrainingKeys) -> int:
        """The tokens for which a GPU has room, calculated once."""
        room = self._machine.gpu_mb * MB
        return tokens_within(room, lambda tokens: self._training_bytes(keys, tokens))

    def _checkpoints(self, keys: TrainingKeys, mean: float) -> tuple[bool, int | None]:
        """Whether activations are calculated twice: where the longest sample would not fit the GPU otherwise;
        and the tokens that fit. Several processes cut no rows, and their longest row decides."""
        wanted, samples = keys.gradient_checkpointing, _micro_batch(keys)
        if not self._machine.on_gpu or wanted == "yes":
            return wanted == "yes", None
        within = self._row(keys)
        if keys.gpus == 1:
            longest = min(LONGEST_SAMPLE * mean, keys.max_length)
            return wanted == "auto" and longest > within, within
        longest = min(_LONGEST_ROW * samples * mean, samples * keys.max_length)
        return wanted == "auto" and longest > within, None

    # ----- memory, and jobs -------------------------------------------------------------------------

    def _way(self, keys: TrainingKeys, checkpointed: bool = False) -> TrainingWay:
        way = way_of(keys, self.size, self._checkpoint)
        return replace(way, checkpointed=checkpointed)

    def _trained(self, keys: TrainingKeys) -> int:
        return self._way(keys).trained(self.size)

    def _training_bytes(self, keys: TrainingKeys, tokens: int, checkpointed: bool = False) -> int:
        """Of one device."""
        dtype = self._machine.number_format(keys.precision)
        parts = training_bytes(self.size, self._way(keys, checkpointed), dtype, tokens)
        return sum(parts.values())

    def _evaluation_mb(self, batch: int, length: int) -> int:
        needed = evaluation_bytes(self.size, self._machine.dtype, batch, length)
        return max(needed // MB, self._least_mb(length) * self._machine.on_gpu)

    def _least_mb(self, length: int) -> int:
        return least_evaluation_bytes(self.size, self._machine.dtype, length) // MB

    def evaluated(self, seconds: float, work: list[Amount]) -> Need:
        length = max((one.length for one in work), default=100)
        device = self._evaluation_mb(self._compute.batch_size, length)
        on_gpu = self._machine.on_gpu
        return Need(
            seconds,
            self._host_mb(self._weights, device),
            gpus=int(on_gpu),
            gpu_mb=(device + DEVICE_MB) * on_gpu,
            disk_mb=max(1, sum(one.items for one in work) // 1_000),
            tokens=int(sum(one.tokens for one in work)),
        )

    def trained(self, keys: TrainingKeys, seconds: float, tokens: int, length: int) -> Need:
        """Its memory is the least that does: one sample at a time, calculated twice where that may be."""
        on_gpu = self._machine.on_gpu
        twice = keys.gradient_checkpointing in ("yes", "auto" if on_gpu else "yes")
        trained = self._trained(keys)
        device = self._training_bytes(keys, length, twice) // MB
        weights = self._weights * keys.gpus
        if on_gpu:  # at the end the first one has what was trained, exactly, beside the weights
            weights = max(weights, self._weights + trained * BYTES["float32"])
        return Need(
            seconds,
            self._host_mb(weights, device, keys.gpus),
            gpus=keys.gpus * on_gpu,
            gpu_mb=(device + DEVICE_MB) * on_gpu,
            disk_mb=math.ceil((trained * _STORED_OF_TRAINED + self._weights) / MB),
            tokens=tokens,
        )

    def cards(self, length: int, batch: int) -> tuple[int, int]:
        """The GPUs of an evaluation, and the memory that each needs: one, or where that does not hold the weights as
        many of a node as do; twice as many each time, as nodes are shared out."""
        alone = self._least_mb(length)
        if alone <= self._machine.gpu_mb:
            return 1, alone
        cards, needed, longest = 1, alone, LONGEST_SAMPLE * length
        while needed > self._machine.gpu_mb and 2 * cards <= self._machine.gpus_per_node:
            cards *= 2
            needed = spread_bytes(self.size, self._machine.dtype, batch, longest, cards) // MB
        return cards, needed

    def measured(self, seconds: float, work: list[Amount]) -> Need:
        """As `evaluated`, of work that may be done over several GPUs."""
        need = self.evaluated(seconds, work)
        if not self._machine.on_gpu:
            return need
        length = max((one.length for one in work), default=100)
        cards, each = self.cards(length, self._compute.batch_size)
        return need if cards == 1 else replace(need, gpus=cards, gpu_mb=each + DEVICE_MB)

    @property
    def smallest_mb(self) -> int:
        """The memory of each GPU in an evaluation; how much it reads at once follows what there is, or the config."""
        return self.cards(_USUAL_LENGTH, batch=1)[1] + DEVICE_MB

    def _host_mb(self, weights: int, device_mb: int, processes: int = 1) -> int:
        """With a GPU the weights pass through; without one all of it happens here."""
        if self._machine.on_gpu:
            return processes * CUDA_MB + math.ceil(1.3 * weights / MB)
        return processes * (LIBRARIES_MB + device_mb) + math.ceil(weights / MB)


def _micro_batch(keys: TrainingKeys) -> int:
    return keys.micro_batch_size or min(8, keys.batch_size)
