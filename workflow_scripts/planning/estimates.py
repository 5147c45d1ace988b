"""Estimate the time, memory, GPUs and disk of each job from the model's parameters and the number of tokens.

Memory is parameters times bytes per parameter, plus tokens of a batch times a constant. Time is FLOPs / (peak FLOP/s of
the device * cluster.utilisation), and at least the time to read the weights and launch the kernels of each pass. The
time limit is cluster.time_safety_factor times the estimate, and grows with each retry. config/work.tsv has the items
and tokens of tasks.
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
_FORWARD_FLOPS = 2
_FROZEN_FLOPS = 4
_TRAINING_FLOPS = 6
_START_SECONDS = 12  # before a model is loaded
_ITEM_SECONDS = 0.006  # tokenising, scoring and writing
_DISK_MB_PER_SECOND = 500
_DOWNLOAD_MB_PER_SECOND = 50
_UNKNOWN_SECONDS = 4 * 3600  # for a submitted model that no table has
# CUDA's libraries in host memory; the CUDA context on the GPU.
_CUDA_HOST_MB = 5_000
_CUDA_MB = 1_500
# Memory of loaded weights / their size: of a model, and of each model while chunk plans are made of it (measured: 1.3
# and 1.9 with SmolLM2-135M).
_HOST_COPIES = 1.3
_PLAN_COPIES = 1.95
# Bytes per token and unit of hidden size: a forward pass with its cache (measured with SmolLM2-135M: 60, with chunks
# 110); what autograd saves per layer (saved_tensors_hooks count 38 to 92 on Qwen2 and GPT-NeoX), without and with
# activation recomputation.
_FORWARD_BYTES = 120
_ACTIVATION_BYTES = 90
_RECOMPUTED_BYTES = 2
# _CPU_MEMORY of evaluation/prefix/engine.py, memory of a batch on a CPU, and a fifth that the engine does not count;
# its _GPU_TOKENS, tokens of a call on a GPU.
_CPU_BATCH_MB = 1_300
_GPU_TOKENS = 2**13
# Logits of a training step: bytes per token and entry of the vocabulary.
_LOGIT_BYTES = 16
_LORA_SIZES = 20  # sum of the input and output sizes of a layer's linear modules / hidden size
_LONGEST_TO_MEAN_LENGTH = 4  # longest sample / mean length
_TRAINING_PASSES = 4  # kernel launches of a training step / those of a forward pass
_MMLU_SUBJECTS = 57
_MMLU_QUESTIONS = 14_042
_MINIATURE_QUESTIONS = 12  # per subject
_MINIATURE_TASK_SIZE = {"training_tokens": 26, "test_tokens": 26, "training_items": 400}
# The assumed items and tokens of a task that the work table does not have.
_DEFAULT_TASK_SIZE = WorkRow(
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
_TEXT_TOKENS = 118_000_000  # of all texts
_CHAT_TOKENS = 450  # of a conversation
_MINIATURE_TOKENS = 80_000  # of all texts


@dataclass(frozen=True)
class JobEstimate:
    """The estimated resources of one job."""

    seconds: float
    mem_mb: int  # in host memory
    gpus: int = 0
    gpu_mb: int = 0  # of each GPU
    disk_mb: int = 0  # disk space of the outputs

    def get_time_limit_minutes(self, attempt: int, cluster: Cluster) -> int:
        """Return the time limit in minutes, which doubles with each retry up to cluster.max_job_hours."""
        expected = self.seconds * cluster.time_safety_factor / 60 + 10
        return min(math.ceil(expected * 2 ** (attempt - 1)), cluster.max_job_hours * 60)

    def get_memory_limit_mb(self, attempt: int, cluster: Cluster) -> int:
        """Return the memory limit in MB; each retry adds half of `mem_mb`, up to cluster.node_memory_gb."""
        return min(int(self.mem_mb * (1 + attempt) / 2), cluster.node_memory_gb * 1_000)


class Workload(NamedTuple):
    """The number of items, the mean tokens per prompt, the generated tokens per item and the rows per batch."""

    items: float
    tokens: float
    new_tokens: int = 0
    rows: int | None = None  # None is compute.batch_size


class ResourceEstimator:
    """Estimate the resources of each job of a config; the arguments of public methods are the job's wildcards."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._on_gpus = settings.on_gpus
        self._device = settings.devices[settings.cluster.gpu if self._on_gpus else "cpu"]
        self._free_mb = self._device.memory_gb * 1_000 - _CUDA_MB
        # The dtype that hub.load chooses for auto: bfloat16 if the GPU or CPU has it.
        has_bfloat16 = self._device.bfloat16 if self._on_gpus else has_fast_bfloat16()
        self._auto_dtype = "bfloat16" if has_bfloat16 else "float32"
        self._miniature = settings.source == "miniature"
        self._dtype = self._choose_dtype(settings.compute.dtype)
        self._measures = settings.chunking.measures
        self._rows = settings.compute.batch_size

    # Evaluation

    def estimate_mmlu(self, checkpoint: str) -> JobEstimate:
        """Estimate MMLU in lighteval, which scores each prompt with the letters and with the answer texts."""
        size = self._get_task_size("mmlu_helm")
        items = self._count_mmlu_items(self._settings.mmlu.max_items_per_subject)
        tokens = size.test_tokens * self._choose_by_source(4, 2)
        workload = Workload(items, tokens, size.new_tokens)
        # A prompt also has five examples. SmolLM2-135M in two chunks used 88% of the memory for 8 times its tokens.
        return self._estimate_inference(checkpoint, [workload], 8 * size.test_tokens * self._rows)

    def estimate_prompt_run(self, checkpoint: str, run: str) -> JobEstimate:
        prompt_run = self._settings.prompt_runs[run]
        items = self._count_mmlu_items(self._settings.prompts.max_items_per_subject)
        new_tokens = prompt_run.decoding.new_tokens or 0
        workload = Workload(
            _cap(items, prompt_run.first), self._choose_by_source(70, 130), new_tokens
        )
        # The longest prompts have examples. Where nothing is generated, they are in memory once.
        longest = workload.tokens * (2 if new_tokens else 1)
        return self._estimate_inference(checkpoint, [workload], (longest + new_tokens) * self._rows)

    def estimate_cells(self, batch: TaskBatch, checkpoint: str) -> JobEstimate:
        """Estimate a job of the grid with several tasks: their times add up, and the largest task sets the memory."""
        if batch.protocol == "train_before_test":
            return self.estimate_training_before_test(checkpoint, batch.tasks)
        harmony = self._settings.harmony
        shots = harmony.shots if batch.protocol == "few_shot" else 0
        workloads = [
            self._get_test_workload(task, shots, harmony.max_test_items) for task in batch.tasks
        ]
        return self._estimate_inference(checkpoint, workloads)

    def estimate_row(self, batch: TaskBatch, row: str) -> JobEstimate:
        """Estimate a job of the leaderboard with several tasks of a row."""
        request, suite = self._settings.suite_rows[row], self._settings.suite
        if request.checkpoint.model not in self._settings.models:
            seconds = self._choose_by_source(60, _UNKNOWN_SECONDS)
            return JobEstimate(seconds, suite.memory_mb, gpus=int(self._on_gpus))
        workloads = [
            self._get_test_workload(entry.task, entry.shots, entry.max_items or suite.max_items)
            for entry in suite.tasks
            if entry.task in batch.tasks
        ]
        estimator = copy(self)
        estimator._dtype = request.precision
        return estimator._estimate_inference(request.name, workloads)

    def estimate_perplexity(self, checkpoint: str, plans: int = 0) -> JobEstimate:
        """Estimate the perplexity of the texts in the checkpoint's own plan and in `plans` other plans.

        The unchanged model is loaded beside each other plan. It is an upper bound for generated texts.
        """
        measures = self._measures
        tokens = _cap(self._choose_by_source(9_000, 290_000), measures.text_tokens)
        responses = measures.responses * len(measures.difficulties)
        workloads = [
            Workload(tokens / measures.stride, measures.window),
            Workload(responses, self._choose_by_source(10, 500)),
        ]
        batch_tokens = max(measures.window, _GPU_TOKENS if self._on_gpus else 0)
        models = 2 if plans else 1
        return self._estimate_inference(
            checkpoint, workloads, batch_tokens, models, repeats=plans + 1
        )

    def estimate_untrained_perplexity(self, model: str) -> JobEstimate:
        plans = self._measures.build_perplexity_plans(self._get_row(model))
        return self.estimate_perplexity(model, len(plans))

    def estimate_latency(self, model: str) -> JobEstimate:
        """Estimate the latency measurement: each plan fused, as a loop, and compared with the unchanged model."""
        measures = self._measures
        variants = self._settings.chunking.checkpoints
        plans = len(measures.build_latency_plans(self._get_row(model), variants))
        rounds = 3 * plans * len(measures.devices) * (1 + measures.repeats)
        tokens = self._choose_by_source(32, 100)
        workloads = [
            Workload(measures.questions, tokens, measures.new_tokens, rows)
            for rows in measures.batch_sizes
        ]
        return self._estimate_inference(
            model, workloads, models=2, gpus=max(measures.devices), repeats=rounds
        )

    # Training

    def estimate_training_before_test(self, checkpoint: str, tasks: tuple[str, ...]) -> JobEstimate:
        """Estimate training on each task with each seed, selection of the epoch, and the test."""
        harmony = self._settings.harmony
        recipe = self._settings.task_recipe
        seeds = max(1, len(harmony.seeds))
        seconds = 0.0
        tokens = 0
        for task in tasks:
            size = self._get_task_size(task)
            items = _cap(size.training_items, recipe.max_training_items)
            held_out = _cap(items, recipe.max_validation_items)
            validation = Workload(held_out, size.training_tokens, size.new_tokens)
            epoch_seconds = self._estimate_training_seconds(
                checkpoint, recipe, items, size.training_tokens
            )
            epoch_seconds += self._estimate_inference_seconds(checkpoint, validation)
            test = self._get_test_workload(task, 0, harmony.max_test_items)
            test_seconds = self._estimate_inference_seconds(checkpoint, test)
            seconds += seeds * (recipe.epochs * epoch_seconds + test_seconds)
            tokens = max(tokens, size.training_tokens)
        return self._estimate_training(
            checkpoint, recipe, seconds, tokens, _LONGEST_TO_MEAN_LENGTH * tokens
        )

    def estimate_corpus(self, checkpoint: str, corpus: str) -> JobEstimate:
        """Estimate training on a text, at about four bytes per token."""
        megabytes = Path(self._settings.harmony.corpora[corpus]).stat().st_size / 1e6
        recipe = self._settings.task_recipe
        samples = recipe.epochs * megabytes * MB / 4 / recipe.max_length
        seconds = self._estimate_training_seconds(checkpoint, recipe, samples, recipe.max_length)
        # Twice the training, for the evaluations.
        return self._estimate_training(
            checkpoint, recipe, 2 * seconds, recipe.max_length, recipe.max_length
        )

    def estimate_stage(self, checkpoint: str) -> JobEstimate:
        """Estimate the last training stage of a checkpoint."""
        _, recipe = self._settings.get_stage_recipe(CheckpointId.parse(checkpoint).stages[-1])
        if recipe.data == "text":
            tokens = recipe.max_length
            samples = self._choose_by_source(_MINIATURE_TOKENS, _TEXT_TOKENS) // tokens
        else:
            tokens = self._choose_by_source(15, min(recipe.max_length, _CHAT_TOKENS))
            samples = self._choose_by_source(1_000, 1_000_000)
        samples = recipe.epochs * _cap(samples, recipe.max_samples)
        if recipe.max_steps:
            samples = min(samples, recipe.max_steps * recipe.batch_size)
        seconds = self._estimate_training_seconds(checkpoint, recipe, samples, tokens)
        return self._estimate_training(
            checkpoint, recipe, seconds, tokens, recipe.max_length, states=1
        )

    # Downloads

    def estimate_download(self, kind: str, org: str, name: str) -> JobEstimate:
        """Estimate the download of a model, perhaps at a commit, or of a task's dataset."""
        repository = f"{org}/{name.partition('@')[0]}"
        model = self._settings.models.get(repository)
        if model:
            megabytes = 2 * model.parameters // MB  # in bfloat16
        else:
            rows = self._settings.tasks.values()
            task = next((row.task for row in rows if row.dataset == repository), "")
            megabytes = self._get_task_size(task).download_mb
        return JobEstimate(5 + megabytes / _DOWNLOAD_MB_PER_SECOND, 2_000, disk_mb=megabytes)

    # Time in seconds

    def _estimate_inference_seconds(self, checkpoint: str, workload: Workload) -> float:
        """Return the seconds of all forward passes, each for a batch of prompts or of generated tokens."""
        items, tokens, new_tokens, rows = workload
        passes = math.ceil(items / (rows or self._rows)) * (1 + new_tokens)
        flops = _FORWARD_FLOPS * items * (tokens + new_tokens)
        return items * _ITEM_SECONDS + self._estimate_compute_seconds(
            checkpoint, self._dtype, flops, passes
        )

    def _estimate_training_seconds(
        self, checkpoint: str, keys: TrainingKeys, samples: float, tokens: float
    ) -> float:
        """Return the seconds of training on `samples` samples with `tokens` tokens on average."""
        flops: float = _FROZEN_FLOPS if keys.method == "lora" else _TRAINING_FLOPS
        dtype = self._choose_dtype(keys.precision)
        flops *= samples * tokens
        passes = _TRAINING_PASSES * samples / keys.max_micro_batch_size
        return self._estimate_compute_seconds(checkpoint, dtype, flops, passes)

    def _estimate_compute_seconds(
        self, checkpoint: str, dtype: str, flops: float, passes: float
    ) -> float:
        """Return the seconds for `flops` FLOPs per parameter in `passes` passes.

        Each pass reads the weights and launches the kernels of all layers.
        """
        row, device = self._get_row(checkpoint), self._device
        # The device table has GPUs' peak speed, and the measured speed of one CPU core.
        settings = self._settings
        speed = settings.cluster.utilisation if self._on_gpus else settings.compute.threads
        parameters = row.active_parameters or row.parameters
        compute_seconds = flops * parameters / device.get_peak_flops(dtype) / speed
        weight_bytes = row.parameters * BYTES_PER_PARAMETER[dtype]
        read_seconds = weight_bytes / (device.bandwidth_gb_s * 1e9 * speed)
        launch_seconds = row.layers * device.layer_us * 1e-6
        pass_seconds = passes * max(read_seconds, launch_seconds)
        if self._on_gpus:  # GPUs compute and read in parallel
            return max(compute_seconds, pass_seconds)
        return compute_seconds + pass_seconds

    # Memory in MB

    def _estimate_inference(
        self,
        checkpoint: str,
        workloads: Sequence[Workload],
        batch_tokens: float | None = None,
        models: int = 1,
        gpus: int = 1,
        repeats: int = 1,
    ) -> JobEstimate:
        """Estimate loading models and running batches, on several GPUs if one has too little memory.

        A model on a server needs neither a GPU nor weights in the job.
        """
        seconds = repeats * sum(
            self._estimate_inference_seconds(checkpoint, workload) for workload in workloads
        )
        seconds += _START_SECONDS
        if CheckpointId.parse(checkpoint).model in self._settings.served:
            return JobEstimate(seconds, LIBRARIES_MB)
        weights_mb = models * self._count_weights_mb(checkpoint)
        seconds += weights_mb / _DISK_MB_PER_SECOND
        row_tokens = max(workload.tokens + workload.new_tokens for workload in workloads)
        tokens = batch_tokens or row_tokens * self._rows
        batch_mb = _FORWARD_BYTES * tokens * self._estimate_hidden_size(checkpoint) / MB
        if not self._on_gpus:
            if CheckpointId.parse(checkpoint).plan is None:
                batch_mb = min(batch_mb, _CPU_BATCH_MB)
            weights_mb *= _HOST_COPIES if models == 1 else _PLAN_COPIES
            return JobEstimate(seconds, int(LIBRARIES_MB + weights_mb + batch_mb))
        device_mb = 1.2 * weights_mb + batch_mb
        while device_mb / gpus > self._free_mb and 2 * gpus <= self._settings.cluster.gpus_per_node:
            gpus *= 2
        host_mb = int(_CUDA_HOST_MB + _HOST_COPIES * weights_mb)
        return JobEstimate(seconds, host_mb, gpus, int(device_mb / gpus) + _CUDA_MB)

    def _estimate_training(
        self,
        checkpoint: str,
        keys: TrainingKeys,
        seconds: float,
        mean_tokens: int,
        max_tokens: int,
        states: int = 0,
    ) -> JobEstimate:
        """Estimate the resources of training for `seconds` on samples of `mean_tokens` to `max_tokens` tokens.

        On a GPU, the micro-batch is halved when memory runs out, so the estimate is for one sample, and activations
        that do not fit are recomputed. On a CPU the job would be killed, so it is for the whole micro-batch.
        `states` is the number of training states that it leaves on disk.
        """
        length = min(max_tokens, keys.max_length)
        if not self._on_gpus:
            length = max(length, keys.max_micro_batch_size * min(mean_tokens, keys.max_length))
        row, trained = self._get_row(checkpoint), self._count_trained_parameters(checkpoint, keys)
        vocabulary = self._choose_by_source(2_000, 150_000)
        fixed_bytes = row.parameters * BYTES_PER_PARAMETER[self._choose_dtype(keys.precision)]
        fixed_bytes += BYTES_PER_TRAINED_PARAMETER * trained
        fixed_bytes += length * _LOGIT_BYTES * vocabulary
        activations = length * self._estimate_hidden_size(checkpoint)
        device_mb = (fixed_bytes + activations * _ACTIVATION_BYTES * row.layers) / MB
        may_recompute = self._on_gpus and keys.gradient_checkpointing != "no"
        if may_recompute and device_mb > self._free_mb:
            recomputed_bytes = _ACTIVATION_BYTES + _RECOMPUTED_BYTES * row.layers
            device_mb = (fixed_bytes + activations * recomputed_bytes) / MB
        weights_mb = self._count_weights_mb(checkpoint)
        seconds += _START_SECONDS + weights_mb / _DISK_MB_PER_SECOND
        trained_mb = 4 * trained / MB
        # A training state has the trained parameters and AdamW's two moments.
        disk_mb = int(states * (3 * trained_mb + weights_mb))
        if not self._on_gpus:
            return JobEstimate(seconds, int(LIBRARIES_MB + device_mb), disk_mb=disk_mb)
        # When training ends, all trained parameters are in host memory.
        mem_mb = int(_CUDA_HOST_MB + _HOST_COPIES * weights_mb + trained_mb)
        return JobEstimate(seconds, mem_mb, 1, int(device_mb) + _CUDA_MB, disk_mb)

    # Sizes

    def _get_row(self, checkpoint: str) -> ModelRow:
        return self._settings.models[CheckpointId.parse(checkpoint).model]

    def _count_weights_mb(self, checkpoint: str) -> float:
        return self._get_row(checkpoint).parameters * BYTES_PER_PARAMETER[self._dtype] / MB

    def _estimate_hidden_size(self, checkpoint: str) -> float:
        """Estimate the hidden size, given that a layer has about 12 * hidden_size ** 2 parameters."""
        row = self._get_row(checkpoint)
        return math.sqrt((row.active_parameters or row.parameters) / (12 * row.layers))

    def _count_trained_parameters(self, checkpoint: str, keys: TrainingKeys) -> int:
        """Count the trained parameters; with `trainable_modules` this is an upper bound, all parameters."""
        row = self._get_row(checkpoint)
        if keys.method != "lora":
            return row.parameters
        return int(
            keys.lora_rank * row.layers * _LORA_SIZES * self._estimate_hidden_size(checkpoint)
        )

    def _get_task_size(self, task: str) -> WorkRow:
        """Return the items and tokens of a task; the miniature tasks have short texts."""
        row = self._settings.work.get(task) or _DEFAULT_TASK_SIZE
        if not self._miniature:
            return row
        items = self._settings.miniature.items
        return row.model_copy(update=_MINIATURE_TASK_SIZE | {"test_items": items})

    def _get_test_workload(self, task: str, shots: int, max_items: int | None) -> Workload:
        """Return the workload of a test; for MMLU `max_items` is the limit per subject."""
        size = self._get_task_size(task)
        items = _cap(size.test_items, max_items)
        if task == "mmlu":
            items = self._count_mmlu_items(max_items)
        return Workload(items, size.test_tokens + shots * size.training_tokens, size.new_tokens)

    def _count_mmlu_items(self, per_subject: int | None) -> int:
        questions = self._choose_by_source(_MINIATURE_QUESTIONS, _MMLU_QUESTIONS)
        return min(_MMLU_QUESTIONS, _MMLU_SUBJECTS * _cap(questions, per_subject))

    def _choose_by_source(self, miniature: int, real: int) -> int:
        """Return the number for the source of the config."""
        return miniature if self._miniature else real

    def _choose_dtype(self, dtype: str) -> str:
        """Return the dtype; auto is replaced by what hub.load chooses on the config's device."""
        return self._auto_dtype if dtype == "auto" else dtype


def _cap(number: int, max_items: int | None) -> int:
    """Limit a number of items to `max_items`; None is no limit."""
    return number if max_items is None else min(number, max_items)
