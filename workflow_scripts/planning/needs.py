"""What each job needs, from the config and its tables alone: time, memory, GPUs and disk.

One function a kind of job, called by the rules for what they ask for and by `snakemake plan` for
what it adds up to. Times are what is expected; a job asks for more (`Need.minutes`).
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.arithmetic import (
    BYTES,
    Size,
    Speed,
    evaluation_bytes,
    generating_seconds,
    reading_seconds,
    trained_share,
    training_bytes,
    training_seconds,
)
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.requests import Request
from workflow_scripts.settings.suite import SuiteTask
from workflow_scripts.settings.tables import WorkRow
from workflow_scripts.settings.training import TrainingKeys

MB = 1_000_000
# Python, PyTorch and a harness; with a GPU also CUDA's libraries.
_LIBRARIES_MB, _CUDA_MB = 1_500, 5_000
# CUDA's context and what the allocator keeps.
_DEVICE_MB = 1_500
_START, _START_LIGHTEVAL = 12, 22
# Tokenising, requests, scoring and writing, of one item.
_ITEM_SECONDS = 0.006
# The embedded world's texts are short, and what the table says of the real tasks is not true of them.
_MINIATURE_WORK = {"training_tokens": 26, "test_tokens": 26, "training_items": 400}
# Of a task that the work table does not have.
_USUAL_WORK = {
    "training_items": 10_000,
    "test_items": 3_000,
    "training_tokens": 60,
    "test_tokens": 80,
    "new_tokens": 0,
    "download_mb": 100,
}
# Of a submitted model of unknown size, on one task or all.
UNKNOWN_SECONDS = 4 * 3600
_MMLU_SUBJECTS, _MMLU_QUESTIONS = 57, 14_042
_BYTES_A_TOKEN = 4
# Tokens of the texts that perplexity is measured on, and of the two sets that stages train on.
_WIKITEXT_TEST = {"miniature": 9_000, "huggingface": 290_000}
_STAGE_TOKENS = {"text": 118_000_000, "chat": 450}  # all of the text, and of one conversation


@dataclass(frozen=True)
class Need:
    seconds: float
    mem_mb: int
    gpus: int = 0
    gpu_mb: int = 0  # of one GPU
    disk_mb: int = 0  # what it leaves there
    download_mb: int = 0
    tokens: int = 0
    is_guess: bool = False  # the model's size is not known

    def asked_minutes(self, attempt: int, cluster: Cluster) -> int:
        """Twice as long each time it is tried again, up to what the cluster grants."""
        expected = self.seconds * cluster.reserve / 60 + 10
        return min(math.ceil(expected * 2 ** (attempt - 1)), cluster.longest_hours * 60)

    def asked_mem_mb(self, attempt: int, cluster: Cluster) -> int:
        """Half as much more each time it is tried again, up to what a node has."""
        return min(int(self.mem_mb * (1 + attempt) / 2), cluster.node_memory_gb * 1_000)


@dataclass(frozen=True)
class _Work:
    """One task's measuring, in tokens."""

    items: int
    tokens: float
    length: int
    new_tokens: int = 0


class Planner:
    """Needs of jobs by the names that their wildcards have; each is computed once."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._cluster = settings.cluster
        self._miniature = settings.source == "miniature"
        self._compute = settings.compute
        self._on_gpu = not self._miniature and settings.compute.device != "cpu"
        for name in (
            "evaluation",
            "training_before_test",
            "stage",
            "perplexity",
            "corpus",
            "_size",
        ):
            setattr(self, name, cache(getattr(self, name)))

    # ----- the rules' questions ---------------------------------------------------------------------

    def evaluation(self, checkpoint: str, tasks: tuple[str, ...], shots: int = 0) -> Need:
        """Tasks of one model, loaded once: their times add up, the largest counts for memory."""
        work = [self._test(task, shots) for task in tasks]
        seconds = self._loading(checkpoint) + sum(self._measuring(checkpoint, one) for one in work)
        return self._evaluated(checkpoint, seconds, work)

    def training_before_test(self, checkpoint: str, tasks: tuple[str, ...]) -> Need:
        harmony = self._settings.harmony
        recipe = harmony.task_recipe(self._settings.source)
        runs = max(1, len(harmony.seeds)) * max(1, len(recipe.learning_rates))
        seconds, tokens, longest = self._loading(checkpoint), 0, 0
        for task in tasks:
            row = self._work(task)
            items = min(row.training_items, recipe.max_training_items or row.training_items)
            held_out = min(items, recipe.max_validation_items or items)
            trained = items * row.training_tokens
            seconds += runs * self._trained(checkpoint, recipe, items, trained)
            seconds += runs * recipe.epochs * self._read(checkpoint, held_out, row.training_tokens)
            seconds += runs * self._measuring(checkpoint, self._test(task, 0))
            # The model is loaded anew for each task: training has changed it.
            seconds += runs * self._reading_weights(checkpoint)
            tokens += runs * recipe.epochs * trained
            longest = max(longest, row.training_tokens)
        length = min(recipe.max_length, 4 * longest)
        need = self._training_need(checkpoint, recipe, seconds, tokens, length)
        return replace(need, disk_mb=len(tasks))  # records; what was trained is not kept

    def corpus(self, checkpoint: str, megabytes: float) -> Need:
        recipe = self._settings.harmony.task_recipe(self._settings.source)
        tokens = megabytes * MB / _BYTES_A_TOKEN
        seconds = self._loading(checkpoint)
        seconds += self._trained(checkpoint, recipe, tokens / recipe.max_length, tokens)
        seconds += 2 * self._windows(checkpoint, tokens / 10)
        need = self._training_need(checkpoint, recipe, seconds, int(tokens), recipe.max_length)
        return replace(need, disk_mb=1)

    def mmlu(self, checkpoint: str) -> Need:
        wanted = self._settings.mmlu.max_items_per_subject
        work = replace(self._test("mmlu_helm", 0), items=_mmlu_items(wanted, self._most_items))
        work = replace(work, tokens=work.items * (95 if self._miniature else work.length))
        seconds = self._loading(checkpoint) + _START_LIGHTEVAL - _START
        return self._evaluated(checkpoint, seconds + self._measuring(checkpoint, work), [work])

    def suite_row(self, request: Request, tasks: tuple[str, ...]) -> Need:
        """Of a submitted model; of one that no table has, what is planned for any."""
        suite = self._settings.suite
        if request.checkpoint.model not in self._settings.models:
            gpus = int(self._on_gpu)
            return Need(UNKNOWN_SECONDS, suite.memory_mb, gpus=gpus, is_guess=True)
        if request.protocol == "train_before_test":
            return self.training_before_test(request.name, tasks)
        work = [self._suite_test(entry) for entry in suite.tasks if entry.task in tasks]
        seconds = sum(self._measuring(request.name, one) for one in work)
        return self._evaluated(request.name, self._loading(request.name) + seconds, work)

    def prompt_run(self, checkpoint: str, run: str) -> Need:
        asked = self._settings.prompt_runs[run]
        items = _mmlu_items(self._settings.prompts.max_items_per_subject, self._most_items)
        items = min(items, asked.first or items)
        own = 70 if self._miniature else 130
        work = _Work(items, items * own, own, asked.decoding.new_tokens or 0)
        seconds = self._loading(checkpoint) + self._measuring(checkpoint, work)
        return self._evaluated(checkpoint, seconds, [work])

    def perplexity(self, checkpoint: str, plans: int) -> Need:
        """Of the texts, in the model's own plan and in so many others."""
        measures = self._settings.chunking.measures
        tokens = _WIKITEXT_TEST[self._settings.source]
        responses = measures.responses * len(measures.difficulties)
        length = 10 if self._miniature else 500
        seconds = self._windows(checkpoint, tokens) + self._read(checkpoint, responses, length)
        seconds = self._loading(checkpoint) + (plans + 1) * (seconds + 0.5)
        return self._evaluated(checkpoint, seconds, [_Work(responses, 0, measures.window)])

    def latency(self, checkpoint: str, variants: int) -> Need:
        measures = self._settings.chunking.measures
        batches = sum(math.ceil(measures.questions / size) for size in measures.batch_sizes)
        steps = batches * measures.new_tokens * measures.repeats * (variants + 1)
        seconds = self._loading(checkpoint) + generating_seconds(
            self._size(checkpoint), self._speed(self._compute.dtype), self._compute.dtype, steps
        )
        rows = max(measures.batch_sizes)
        return self._evaluated(checkpoint, seconds, [_Work(rows, 0, 200)])

    def stage(self, checkpoint: str) -> Need:
        """The last stage of a checkpoint's training."""
        recipe = self._settings.stage_recipe(CheckpointId.parse(checkpoint).stages[-1])[1]
        samples = 1_000 if self._miniature else recipe.max_samples or 1_000_000
        if recipe.data == "text":
            whole = 80_000 if self._miniature else _STAGE_TOKENS["text"]
            samples = min(samples, whole // recipe.max_length)
            each = recipe.max_length
        else:
            each = 15 if self._miniature else min(recipe.max_length, _STAGE_TOKENS["chat"])
        samples = max(recipe.batch_size, samples)
        held_out = samples * recipe.validation
        steps = recipe.epochs * (samples - held_out) / recipe.batch_size
        done = min(steps, recipe.max_steps or steps) / steps
        seconds = self._loading(checkpoint) + done * self._trained(
            checkpoint, recipe, samples - held_out, (samples - held_out) * each
        )
        evaluations = max(1, steps * done / recipe.evaluate_every) if recipe.evaluate_every else 1
        seconds += evaluations * self._read(checkpoint, held_out, each, rows=8) / recipe.gpus
        tokens = int(done * recipe.epochs * samples * each)
        return self._training_need(checkpoint, recipe, seconds, tokens, recipe.max_length)

    def samples(self, recipe: str) -> Need:
        """Tokenised by one process, a hundred thousand tokens a second."""
        keys = self._settings.training.recipes[recipe]
        whole = keys.max_samples or 1_000_000
        tokens = _STAGE_TOKENS["text"] if keys.data == "text" else whole * _STAGE_TOKENS["chat"]
        tokens = 80_000 if self._miniature else tokens
        mb = math.ceil(tokens * _BYTES_A_TOKEN / MB)
        return Need(_START + tokens / 100_000, 4_000, disk_mb=mb, tokens=tokens)

    def building(self, checkpoint: str) -> Need:
        """The base's weights are linked, never loaded; adapters are a few percent of them."""
        new = int(self._size(checkpoint).parameters * 0.1) * BYTES["float32"]
        return Need(_START + new / MB / 100, 2_000 + new // MB, disk_mb=new // MB)

    def verification(self, checkpoint: str) -> Need:
        """The model twice, in float32, on a few sentences."""
        weights = 2 * self._size(checkpoint).weights("float32") // MB
        need = self._evaluated(checkpoint, _START + 2 * self._reading_weights(checkpoint) + 10, [])
        return replace(need, mem_mb=need.mem_mb + weights, gpu_mb=need.gpu_mb + weights)

    def world(self) -> Need:
        """The generated datasets, texts and tokenizer."""
        return Need(4 + self._settings.miniature.items / 40, 3_000, disk_mb=60)

    def miniature_model(self, name: str) -> Need:
        """Its training; the base models take two minutes of a core for a million parameters."""
        row = self._settings.models.get(f"miniature/{name}")
        millions = row.parameters / MB if row and row.kind == "base" else 0.1
        return Need(10 + 100 * millions * self._settings.miniature.effort, 3_000, disk_mb=8)

    def download(self, kind: str, repository: str) -> Need:
        if kind == "model":
            row = self._settings.models.get(repository)
            # Published in 16 bits, but for the oldest.
            size = row.parameters * (4 if row.family == "GPT-2" else 2) // MB if row else 1_000
            is_guess = row is None
        else:
            is_guess = False
            size = self._dataset_mb.get(repository, 500)
        seconds = 5 + size / self._cluster.download_mb_per_second
        return Need(seconds, 2_000, disk_mb=size, download_mb=size, is_guess=is_guess)

    def too_large(self) -> list[str]:
        """A sentence for each job that the GPUs which it asks for cannot hold."""
        if not self._on_gpu:
            return []
        settings = self._settings
        evaluated = [*settings.harmony.models, *settings.prompts.models]
        evaluated += [str(one) for one in settings.mmlu_checkpoints()]
        sizes = {
            f"{name} cannot be evaluated": self._smallest_mb(name)
            for name in dict.fromkeys(evaluated)
        }
        if "train_before_test" in settings.harmony.protocols:
            recipe = settings.harmony.recipe or "published"
            for name in settings.harmony.models:
                need = self.training_before_test(name, settings.harmony.tasks)
                sizes[f"{name} cannot be trained with the recipe {recipe!r}"] = need.gpu_mb
        for one in settings.staged_checkpoints():
            if one.stages:
                recipe, _ = settings.stage_recipe(one.stages[-1])
                sizes[f"{one} cannot be trained with the recipe {recipe!r}"] = self.stage(
                    str(one)
                ).gpu_mb
        held = settings.devices[self._cluster.gpu].memory_gb
        return [
            f"{what}: it needs {mb / 1_000:.0f} GB on each GPU, and cluster.gpu"
            f" {self._cluster.gpu!r} has {held}; expected a larger GPU, another number format, or in"
            " the recipe more gpus and sharded: true."
            for what, mb in sizes.items()
            if mb > held * 1_000
        ]

    def _smallest_mb(self, checkpoint: str) -> int:
        """Of an evaluation; how much it reads at once follows what the GPU has."""
        size, dtype = self._size(checkpoint), self._compute.dtype
        return evaluation_bytes(size, dtype, 1, 1_000) // MB + _DEVICE_MB

    # ----- how it is reckoned -----------------------------------------------------------------------

    @cached_property
    def _dataset_mb(self) -> dict[str, int]:
        tasks = self._settings.tasks
        return {
            tasks[name].dataset: row.download_mb
            for name, row in self._settings.work.items()
            if name in tasks
        } | {"Salesforce/wikitext": 320, "Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1": 2_400}

    @property
    def _most_items(self) -> int | None:
        """Of one MMLU subject in the miniature world."""
        return 12 if self._miniature else None

    def _size(self, checkpoint: str) -> Size:
        return Size.of(self._settings.model(CheckpointId.parse(checkpoint).model))

    @cache  # noqa: B019 (there is one planner, and it lives as long as the workflow)
    def _speed(self, dtype: str) -> Speed:
        device = self._settings.devices[self._cluster.gpu if self._on_gpu else "cpu"]
        cluster = self._cluster
        return Speed.of(
            device,
            dtype,
            reading=cluster.reading_use,
            training=cluster.training_use,
            generating=cluster.generating_use,
        )

    def _work(self, task: str) -> WorkRow:
        row = self._settings.work.get(task)
        if row is None:
            row = WorkRow.model_construct(None, task=task, source="an estimate", **_USUAL_WORK)
        if self._miniature:
            items = self._settings.miniature.items
            row = row.model_copy(update=_MINIATURE_WORK | {"test_items": items})
        return row

    def _test(self, task: str, shots: int) -> _Work:
        row = self._work(task)
        wanted = self._settings.harmony.max_test_items or row.test_items
        items = min(row.test_items, wanted)
        length = row.test_tokens + shots * row.training_tokens
        return _Work(items, items * length, length, row.new_tokens)

    def _suite_test(self, entry: SuiteTask) -> _Work:
        row, wanted = self._work(entry.task), entry.max_items or self._settings.suite.max_items
        if entry.task == "mmlu":  # its cap is on each subject
            items = _mmlu_items(wanted, self._most_items)
        else:
            items = min(row.test_items, wanted or row.test_items)
        length = row.test_tokens + entry.shots * row.training_tokens
        return _Work(items, items * length, length, row.new_tokens)

    def _loading(self, checkpoint: str) -> float:
        return _START + self._reading_weights(checkpoint)

    def _reading_weights(self, checkpoint: str) -> float:
        weights = self._size(checkpoint).weights("bfloat16") / MB
        return weights / self._cluster.disk_mb_per_second

    def _read(self, checkpoint: str, items: float, length: float, rows: int | None = None) -> float:
        passes = items / (rows or self._compute.batch_size)
        return reading_seconds(
            self._size(checkpoint), self._speed(self._compute.dtype), items * length, passes
        )

    def _measuring(self, checkpoint: str, work: _Work) -> float:
        size, dtype = self._size(checkpoint), self._compute.dtype
        batches = math.ceil(work.items / self._compute.batch_size)
        return (
            work.items * _ITEM_SECONDS
            + reading_seconds(size, self._speed(dtype), work.tokens, batches)
            + generating_seconds(size, self._speed(dtype), dtype, batches * work.new_tokens)
        )

    def _windows(self, checkpoint: str, tokens: float) -> float:
        measures = self._settings.chunking.measures
        return self._read(checkpoint, tokens / measures.stride, measures.window)

    def _trained(self, checkpoint: str, keys: TrainingKeys, items: float, tokens: float) -> float:
        """All epochs; what goes through at once decides how often the layers' own time is paid."""
        rows = keys.micro_batch_size or min(8, keys.batch_size)
        return training_seconds(
            self._size(checkpoint),
            self._speed(self._precision(keys)),
            keys.method,
            keys.epochs * tokens,
            keys.epochs * items / rows / keys.gpus,
            keys.gpus,
        )

    def _precision(self, keys: TrainingKeys) -> str:
        if keys.precision != "auto":
            return keys.precision
        return "bfloat16" if self._on_gpu else "float32"

    def _evaluated(self, checkpoint: str, seconds: float, work: list[_Work]) -> Need:
        size, dtype = self._size(checkpoint), self._compute.dtype
        length = max((one.length for one in work), default=100)
        device = evaluation_bytes(size, dtype, self._compute.batch_size, length) // MB
        return Need(
            seconds,
            self._host_mb(size.weights(dtype), device),
            gpus=int(self._on_gpu),
            gpu_mb=(device + _DEVICE_MB) * self._on_gpu,
            disk_mb=max(1, sum(one.items for one in work) // 1_000),
            tokens=int(sum(one.tokens for one in work)),
        )

    def _training_need(
        self, checkpoint: str, keys: TrainingKeys, seconds: float, tokens: int, length: int
    ) -> Need:
        size, dtype = self._size(checkpoint), self._compute.dtype
        device = training_bytes(size, keys.method, dtype, 1, length, keys.lora_rank) // MB
        gpus = keys.gpus if self._on_gpu else 0
        trained = size.parameters * trained_share(keys.method, keys.lora_rank)
        kept = 2 * int(trained * 12) + size.weights(dtype)  # two states, and the result
        return Need(
            seconds,
            self._host_mb(size.weights(dtype) * max(1, keys.gpus), device),
            gpus=gpus,
            gpu_mb=(device // (keys.gpus if keys.sharded else 1) + _DEVICE_MB) * bool(gpus),
            disk_mb=math.ceil(kept / MB),
            tokens=tokens,
        )

    def _host_mb(self, weights: int, device_mb: int) -> int:
        """With a GPU the weights pass through; without one all of it happens here."""
        if self._on_gpu:
            return _CUDA_MB + math.ceil(1.3 * weights / MB)
        return _LIBRARIES_MB + math.ceil(weights / MB) + device_mb


def _mmlu_items(per_subject: int | None, most: int | None) -> int:
    limits = [limit for limit in (per_subject, most) if limit]
    return min(_MMLU_QUESTIONS, _MMLU_SUBJECTS * min(limits)) if limits else _MMLU_QUESTIONS
