"""Estimate the time, memory, GPUs and disk of each job from the model's parameters and the number of tokens.

Memory is parameters times bytes plus tokens of a batch times a constant. Time is FLOPs / (peak FLOPs of the device *
cluster.utilisation), and at least the time to read the weights and launch the kernels of each pass. The time limit is
cluster.time_safety_factor times the estimate, and grows with each retry. config/work.tsv has the items and
tokens of tasks.
"""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.memory import (
    BYTES_PER_PARAMETER,
    BYTES_PER_TRAINED_PARAMETER,
    LIBRARIES_MB,
    MB,
    has_fast_bfloat16,
)
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.job_batches import TaskBatch
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.tables import ModelRow, WorkRow
from workflow_scripts.settings.training_keys import TrainingKeys

# FLOPs per parameter and token: forward pass; training step without and with gradients of the weights.
_FORWARD_FLOPS, _FROZEN_FLOPS, _TRAINING_FLOPS = 2, 4, 6
_START_SECONDS = 12  # before a model is loaded
_ITEM_SECONDS = 0.006  # tokenising, scoring and writing
_DISK_MB_PER_SECOND, _DOWNLOAD_MB_PER_SECOND = 500, 50
_UNKNOWN_SECONDS = 4 * 3600  # for a submitted model that no table has
# CUDA's libraries in host memory; the CUDA context on the GPU.
_CUDA_HOST_MB, _CUDA_MB = 5_000, 1_500
# Memory of loaded weights / their size: of a model, and of each model while chunk plans are made of it (measured: 1.3
# and 1.9 with SmolLM2-135M).
_HOST_COPIES, _PLAN_COPIES = 1.3, 1.95
# Bytes per token and unit of hidden size: a forward pass with its cache (measured with SmolLM2-135M: 60, with chunks
# 110); what autograd saves per layer (saved_tensors_hooks count 38 to 92 on Qwen2 and GPT-NeoX), without and with
# activation recomputation.
_FORWARD_BYTES, _KEPT_BYTES, _RECOMPUTED_BYTES = 120, 90, 2
# CPU_BUDGET and GPU_TOKENS of evaluation/prefix/engine.py: memory of a batch on a CPU, tokens of a call on a GPU.
_CPU_BATCH_MB, _GPU_TOKENS = 1_074, 2**13
# Logits of a training step: bytes per token and entry of the vocabulary.
_LOGIT_BYTES = 16
_LORA_WIDTHS = 20  # sum of the input and output sizes of a layer's linear modules / hidden size
_LONGEST_SAMPLE = 4  # longest sample / mean length
_TRAINING_PASSES = 4  # kernel launches of a training step / those of a forward pass
_MMLU_SUBJECTS, _MMLU_QUESTIONS, _MINIATURE_QUESTIONS = 57, 14_042, 12
_MINIATURE_WORK = {"training_tokens": 26, "test_tokens": 26, "training_items": 400}
# The assumed size of a task that the work table does not have.
_USUAL_WORK = WorkRow(
    task="usual",
    training_items=10_000,
    test_items=3_000,
    training_tokens=60,
    test_tokens=80,
    new_tokens=0,
    download_mb=500,
    source="an estimate",
)
# Tokens of the training data of stages.
_TEXT_TOKENS, _CHAT_TOKENS, _MINIATURE_TOKENS = 118_000_000, 450, 80_000


@dataclass(frozen=True)
class Need:
    """The resources of one job."""

    seconds: float
    mem_mb: int
    gpus: int = 0
    gpu_mb: int = 0  # of each GPU
    disk_mb: int = 0  # disk space of the outputs

    def get_time_limit_minutes(self, attempt: int, cluster: Cluster) -> int:
        """Return the time limit, which doubles with each retry up to cluster.max_job_hours."""
        expected = self.seconds * cluster.time_safety_factor / 60 + 10
        return min(math.ceil(expected * 2 ** (attempt - 1)), cluster.max_job_hours * 60)

    def get_memory_limit_mb(self, attempt: int, cluster: Cluster) -> int:
        """Return the memory limit, which grows by half of `mem_mb` with each retry up to cluster.node_memory_gb."""
        return min(int(self.mem_mb * (1 + attempt) / 2), cluster.node_memory_gb * 1_000)


class Workload(NamedTuple):
    """A workload: number of items, tokens per prompt, generated tokens per item and rows per batch."""

    items: float
    tokens: float
    new_tokens: int = 0
    rows: int | None = None  # None is compute.batch_size


class Planner:
    """Estimate the resources of each job of a config from its wildcards."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._on_gpus = settings.on_gpus
        self._device = settings.devices[settings.cluster.gpu if self._on_gpus else "cpu"]
        self._free_mb = self._device.memory_gb * 1_000 - _CUDA_MB
        # What auto chooses, as in hub.load: bfloat16 where the GPU or the processor has it.
        has_bfloat16 = self._device.bfloat16 if self._on_gpus else has_fast_bfloat16()
        self._auto = "bfloat16" if has_bfloat16 else "float32"
        self._miniature = settings.source == "miniature"
        self._dtype = self._choose_dtype(settings.compute.dtype)
        self._measures = settings.chunking.measures
        self._rows = settings.compute.batch_size

    # Evaluation

    def mmlu(self, checkpoint: str) -> Need:
        """Estimate MMLU in lighteval, which scores each prompt with the letters and with the answer texts."""
        work = self._get_work("mmlu_helm")
        items = self._count_mmlu_items(self._settings.mmlu.max_items_per_subject)
        tokens = work.test_tokens * self._choose(4, 2)
        reading = Workload(items, tokens, work.new_tokens)
        # A row has five examples too; of 8 times its tokens, SmolLM2-135M in two chunks took 88%.
        return self._read(checkpoint, [reading], 8 * work.test_tokens * self._rows)

    def prompt_run(self, checkpoint: str, run: str) -> Need:
        prompt_run = self._settings.prompt_runs[run]
        items = self._count_mmlu_items(self._settings.prompts.max_items_per_subject)
        new_tokens = prompt_run.decoding.new_tokens or 0
        reading = Workload(_limit(items, prompt_run.first), self._choose(70, 130), new_tokens)
        # The longest prompts have examples.
        return self._read(checkpoint, [reading], (2 * reading.tokens + new_tokens) * self._rows)

    def harmony_cells(self, batch: TaskBatch, checkpoint: str) -> Need:
        """Estimate a job with several tasks: their times add up, and the largest task sets the memory."""
        if batch.protocol == "train_before_test":
            return self.training_before_test(checkpoint, batch.tasks)
        harmony = self._settings.harmony
        shots = harmony.shots if batch.protocol == "few_shot" else 0
        readings = [self._test(task, shots, harmony.max_test_items) for task in batch.tasks]
        return self._read(checkpoint, readings)

    def suite_cells(self, batch: TaskBatch, row: str) -> Need:
        request, suite = self._settings.suite_rows[row], self._settings.suite
        if request.checkpoint.model not in self._settings.models:
            seconds = self._choose(60, _UNKNOWN_SECONDS)
            return Need(seconds, suite.memory_mb, gpus=int(self._on_gpus))
        readings = [
            self._test(entry.task, entry.shots, entry.max_items or suite.max_items)
            for entry in suite.tasks
            if entry.task in batch.tasks
        ]
        planner = copy(self)
        planner._dtype = request.precision
        return planner._read(request.name, readings)

    def perplexity(self, checkpoint: str, plans: int = 0) -> Need:
        """Estimate the perplexity of the texts in the checkpoint's own plan and in `plans` other plans.

        The unchanged model is loaded beside each other plan. It is an upper bound for generated texts.
        """
        measures = self._measures
        tokens = _limit(self._choose(9_000, 290_000), measures.text_tokens)
        responses = measures.responses * len(measures.difficulties)
        readings = [
            Workload(tokens / measures.stride, measures.window),
            Workload(responses, self._choose(10, 500)),
        ]
        tokens = max(measures.window, _GPU_TOKENS * self._on_gpus)
        return self._read(checkpoint, readings, tokens, 1 + bool(plans), repeats=plans + 1)

    def untrained_perplexity(self, model: str) -> Need:
        row = self._get_row(model)
        return self.perplexity(
            model, len(self._measures.build_perplexity_plans(row.model, row.layers))
        )

    def latency(self, model: str) -> Need:
        """Estimate the latency measurement: each plan fused, as a loop, and compared with the unchanged model."""
        measures, row = self._measures, self._get_row(model)
        variants = self._settings.chunking.checkpoints
        plans = len(measures.build_latency_plans(row.model, row.layers, variants))
        rounds = 3 * plans * len(measures.devices) * (1 + measures.repeats)
        tokens = self._choose(32, 100)
        readings = [
            Workload(measures.questions, tokens, measures.new_tokens, rows)
            for rows in measures.batch_sizes
        ]
        return self._read(model, readings, models=2, gpus=max(measures.devices), repeats=rounds)

    # Training

    def training_before_test(self, checkpoint: str, tasks: tuple[str, ...]) -> Need:
        """Estimate training on each task with each seed, selection of the epoch, and the test."""
        harmony = self._settings.harmony
        recipe = self._settings.task_recipe
        seeds = max(1, len(harmony.seeds))
        seconds, tokens = 0.0, 0
        for task in tasks:
            work = self._get_work(task)
            items = _limit(work.training_items, recipe.max_training_items)
            held_out = _limit(items, recipe.max_validation_items)
            choice = Workload(held_out, work.training_tokens, work.new_tokens)
            epoch = self._train_seconds(checkpoint, recipe, items, work.training_tokens)
            epoch += self._read_seconds(checkpoint, choice)
            test = self._read_seconds(checkpoint, self._test(task, 0, harmony.max_test_items))
            seconds += seeds * (recipe.epochs * epoch + test)
            tokens = max(tokens, work.training_tokens)
        return self._train(checkpoint, recipe, seconds, tokens, _LONGEST_SAMPLE * tokens)

    def corpus(self, checkpoint: str, corpus: str) -> Need:
        """Estimate training on a text, at about four bytes per token."""
        megabytes = Path(self._settings.harmony.corpora[corpus]).stat().st_size / 1e6
        recipe = self._settings.task_recipe
        samples = recipe.epochs * megabytes * MB / 4 / recipe.max_length
        seconds = self._train_seconds(checkpoint, recipe, samples, recipe.max_length)
        return self._train(checkpoint, recipe, 2 * seconds, recipe.max_length, recipe.max_length)

    def stage(self, checkpoint: str) -> Need:
        """Estimate the last training stage of a checkpoint."""
        _, recipe = self._settings.get_stage_recipe(CheckpointId.parse(checkpoint).stages[-1])
        if recipe.data == "text":
            tokens = recipe.max_length
            samples = self._choose(_MINIATURE_TOKENS, _TEXT_TOKENS) // tokens
        else:
            tokens = self._choose(15, min(recipe.max_length, _CHAT_TOKENS))
            samples = self._choose(1_000, 1_000_000)
        samples = recipe.epochs * _limit(samples, recipe.max_samples)
        if recipe.max_steps:
            samples = min(samples, recipe.max_steps * recipe.batch_size)
        seconds = self._train_seconds(checkpoint, recipe, samples, tokens)
        return self._train(checkpoint, recipe, seconds, tokens, recipe.max_length, states=1)

    # Downloads

    def download(self, kind: str, org: str, name: str) -> Need:
        """Estimate the download of a model, perhaps at a commit, or of a task's dataset."""
        repository = f"{org}/{name.partition('@')[0]}"
        model = self._settings.models.get(repository)
        if model:
            megabytes = 2 * model.parameters // MB  # in bfloat16
        else:
            rows = self._settings.tasks.values()
            task = next((row.task for row in rows if row.dataset == repository), "")
            megabytes = self._get_work(task).download_mb
        return Need(5 + megabytes / _DOWNLOAD_MB_PER_SECOND, 2_000, disk_mb=megabytes)

    # Seconds

    def _read_seconds(self, checkpoint: str, reading: Workload) -> float:
        items, tokens, new_tokens, rows = reading
        passes = math.ceil(items / (rows or self._rows)) * (1 + new_tokens)
        flops = _FORWARD_FLOPS * items * (tokens + new_tokens)
        return items * _ITEM_SECONDS + self._compute_seconds(checkpoint, self._dtype, flops, passes)

    def _train_seconds(
        self, checkpoint: str, keys: TrainingKeys, samples: float, tokens: float
    ) -> float:
        """Return the seconds of training on `samples` samples with `tokens` tokens on average."""
        flops: float = _FROZEN_FLOPS if keys.method == "lora" else _TRAINING_FLOPS
        dtype = self._choose_dtype(keys.precision)
        flops *= samples * tokens
        passes = _TRAINING_PASSES * samples / keys.max_micro_batch_size
        return self._compute_seconds(checkpoint, dtype, flops, passes)

    def _compute_seconds(self, checkpoint: str, dtype: str, flops: float, passes: float) -> float:
        """Return the seconds for `flops` FLOPs per parameter in `passes` passes.

        Each pass reads the weights and launches the kernels of all layers.
        """
        row, device = self._get_row(checkpoint), self._device
        # For CPUs the device table has the measured speed of one core.
        settings = self._settings
        speed = settings.cluster.utilisation if self._on_gpus else settings.compute.threads
        computing = flops * (row.active_parameters or row.parameters) / device.peak(dtype) / speed
        reading = (
            row.parameters * BYTES_PER_PARAMETER[dtype] / (device.bandwidth_gb_s * 1e9 * speed)
        )
        waiting = passes * max(reading, row.layers * device.layer_us * 1e-6)
        return max(computing, waiting) if self._on_gpus else computing + waiting

    # Memory

    def _read(
        self,
        checkpoint: str,
        readings: Sequence[Workload],
        batch_tokens: float | None = None,
        models: int = 1,
        gpus: int = 1,
        repeats: int = 1,
    ) -> Need:
        """Estimate loading models and running batches, on several GPUs if one has too little memory.

        A model on a server needs neither a GPU nor weights in the job.
        """
        seconds = repeats * sum(self._read_seconds(checkpoint, reading) for reading in readings)
        seconds += _START_SECONDS
        if CheckpointId.parse(checkpoint).model in self._settings.served:
            return Need(seconds, LIBRARIES_MB)
        weights_mb = models * self._count_weights_mb(checkpoint)
        seconds += weights_mb / _DISK_MB_PER_SECOND
        longest = max(reading.tokens + reading.new_tokens for reading in readings)
        tokens = batch_tokens or longest * self._rows
        batch_mb = _FORWARD_BYTES * tokens * self._estimate_width(checkpoint) / MB
        if not self._on_gpus:
            if CheckpointId.parse(checkpoint).plan is None:
                batch_mb = min(batch_mb, _CPU_BATCH_MB)
            weights_mb *= _HOST_COPIES if models == 1 else _PLAN_COPIES
            return Need(seconds, int(LIBRARIES_MB + weights_mb + batch_mb))
        device_mb = 1.2 * weights_mb + batch_mb
        while device_mb / gpus > self._free_mb and 2 * gpus <= self._settings.cluster.gpus_per_node:
            gpus *= 2
        host_mb = int(_CUDA_HOST_MB + _HOST_COPIES * weights_mb)
        return Need(seconds, host_mb, gpus, int(device_mb / gpus) + _CUDA_MB)

    def _train(
        self,
        checkpoint: str,
        keys: TrainingKeys,
        seconds: float,
        tokens: int,
        longest: int,
        states: int = 0,
    ) -> Need:
        """Estimate the resources of training on samples of `tokens` tokens on average and at most `longest`.

        A GPU without memory halves the micro-batch, so it needs room for one sample; on a CPU the job is killed. On a
        GPU, activations that do not fit are recomputed.
        `states` is the number of training states that it leaves on disk.
        """
        length = min(longest, keys.max_length)
        if not self._on_gpus:
            length = max(length, keys.max_micro_batch_size * min(tokens, keys.max_length))
        row, trained = self._get_row(checkpoint), self._count_trained(checkpoint, keys)
        fixed = row.parameters * BYTES_PER_PARAMETER[self._choose_dtype(keys.precision)]
        fixed += BYTES_PER_TRAINED_PARAMETER * trained
        fixed += length * _LOGIT_BYTES * self._choose(2_000, 150_000)
        activations = length * self._estimate_width(checkpoint)
        device_mb = (fixed + activations * _KEPT_BYTES * row.layers) / MB
        may_recompute = self._on_gpus and keys.gradient_checkpointing != "no"
        if may_recompute and device_mb > self._free_mb:
            device_mb = (fixed + activations * (_KEPT_BYTES + _RECOMPUTED_BYTES * row.layers)) / MB
        weights_mb = self._count_weights_mb(checkpoint)
        seconds += _START_SECONDS + weights_mb / _DISK_MB_PER_SECOND
        trained_mb = 4 * trained / MB
        # A state has the trained parameters and AdamW's two moments.
        disk_mb = int(states * (3 * trained_mb + weights_mb))
        if not self._on_gpus:
            return Need(seconds, int(LIBRARIES_MB + device_mb), disk_mb=disk_mb)
        # At the end the host memory holds all trained parameters.
        mem_mb = int(_CUDA_HOST_MB + _HOST_COPIES * weights_mb + trained_mb)
        return Need(seconds, mem_mb, 1, int(device_mb) + _CUDA_MB, disk_mb)

    # Sizes

    def _get_row(self, checkpoint: str) -> ModelRow:
        return self._settings.models[CheckpointId.parse(checkpoint).model]

    def _count_weights_mb(self, checkpoint: str) -> float:
        return self._get_row(checkpoint).parameters * BYTES_PER_PARAMETER[self._dtype] / MB

    def _estimate_width(self, checkpoint: str) -> float:
        """Estimate the hidden size, given that a layer has about 12 * hidden_size ** 2 parameters."""
        row = self._get_row(checkpoint)
        return math.sqrt((row.active_parameters or row.parameters) / (12 * row.layers))

    def _count_trained(self, checkpoint: str, keys: TrainingKeys) -> int:
        """Count the trained parameters; with `trainable_modules` this is an upper bound, all parameters."""
        row = self._get_row(checkpoint)
        if keys.method != "lora":
            return row.parameters
        return int(keys.lora_rank * row.layers * _LORA_WIDTHS * self._estimate_width(checkpoint))

    def _get_work(self, task: str) -> WorkRow:
        """Return the items and tokens of a task; the miniature tasks have short texts."""
        row = self._settings.work.get(task) or _USUAL_WORK
        if not self._miniature:
            return row
        items = self._settings.miniature.items
        return row.model_copy(update=_MINIATURE_WORK | {"test_items": items})

    def _test(self, task: str, shots: int, max_items: int | None) -> Workload:
        """Return the workload of a test; for MMLU `max_items` is the limit per subject."""
        work = self._get_work(task)
        items = _limit(work.test_items, max_items)
        if task == "mmlu":
            items = self._count_mmlu_items(max_items)
        return Workload(items, work.test_tokens + shots * work.training_tokens, work.new_tokens)

    def _count_mmlu_items(self, per_subject: int | None) -> int:
        questions = self._choose(_MINIATURE_QUESTIONS, _MMLU_QUESTIONS)
        return min(_MMLU_QUESTIONS, _MMLU_SUBJECTS * _limit(questions, per_subject))

    def _choose(self, miniature: int, real: int) -> int:
        return miniature if self._miniature else real

    def _choose_dtype(self, dtype: str) -> str:
        """Return the dtype that the run takes: a name, or what auto means on the device of the config."""
        return self._auto if dtype == "auto" else dtype


def _limit(number: int, max_items: int | None) -> int:
    """Limit a number of items to `max_items`; None is no limit."""
    return number if max_items is None else min(number, max_items)
