"""What each job needs, from the config and its tables alone: time, memory, GPUs and disk.

One function a kind of job, called by the rules for what they ask for and by `snakemake plan` for
what it adds up to. Times are what is expected; a job asks for more (`Need.asked_minutes`).
"""

# ruff: noqa: B019  (what methods remember lives as long as the process: so does the one planner in it)

import math
from dataclasses import replace
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.machine import LONGEST_SAMPLE, START, Machine
from workflow_scripts.planning.memory import BYTES, LIBRARIES_MB, MB
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.work import BYTES_A_TOKEN, Amount, Work
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import tasks_of
from workflow_scripts.settings.requests import Request

_START_LIGHTEVAL, _START_VERIFYING = 22, START + 10  # instead of START
# A submitted model of unknown size, on one task or all, is planned with so much.
UNKNOWN_SECONDS = 4 * 3600
_WITH_WRAPPER = 1.2  # a model with aggregation and adapters, over the same without
_TOKENISED_A_SECOND = 100_000  # by one process


class Planner:
    """Needs of jobs by the names that their wildcards have; each is computed once."""

    def __init__(self, settings: Settings):
        self._settings, self._cluster = settings, settings.cluster
        self._machine, self._work = Machine(settings), Work(settings)
        self._on_machine = self._machine.model

    # ----- measuring --------------------------------------------------------------------------------

    def _measured(self, checkpoint: str, work: list[Amount], start: float = START) -> Need:
        """The model is loaded once: times add up, the largest counts for memory."""
        model = self._on_machine(checkpoint)
        return model.measured(model.loading(start) + sum(map(model.measuring, work)), work)

    @cache
    def evaluation(self, checkpoint: str, tasks: tuple[str, ...], shots: int = 0) -> Need:
        work = [self._work.test(task, shots) for task in tasks]
        return self._by_server(checkpoint, self._measured(checkpoint, work))

    def mmlu(self, checkpoint: str) -> Need:
        return self._measured(checkpoint, [self._work.mmlu()], _START_LIGHTEVAL)

    def prompt_run(self, checkpoint: str, run: str) -> Need:
        need = self._measured(checkpoint, [self._work.prompt_run(run)])
        return self._by_server(checkpoint, need)

    def _by_server(self, checkpoint: str, need: Need) -> Need:
        """What a server answers takes no GPU and no weights here, and is put down as if it ran here."""
        if CheckpointId.parse(checkpoint).model not in self._settings.served:
            return need
        return replace(need, gpus=0, gpu_mb=0, mem_mb=LIBRARIES_MB)

    def suite_row(self, request: Request, tasks: tuple[str, ...]) -> Need:
        """A submitted model's need; that of one in no table is what is planned for any."""
        suite = self._settings.suite
        if request.checkpoint.model not in self._settings.models:
            gpus = int(self._machine.on_gpu)
            return Need(UNKNOWN_SECONDS, suite.memory_mb, gpus=gpus, is_guess=True)
        if request.protocol == "train_before_test":
            return self.training_before_test(request.name, tasks)
        work = [self._work.suite_test(entry) for entry in suite.tasks if entry.task in tasks]
        return self._measured(request.name, work)

    @cache
    def perplexity(self, checkpoint: str, plans: int = 0) -> Need:
        """The texts are read in the model's own plan and in so many others."""
        model, measures = self._on_machine(checkpoint), self._settings.chunking.measures
        responses = measures.responses * len(measures.difficulties)
        one = 0.5 + model.windows(self._work.wikitext_tokens)
        one += model.reading(responses, self._work.response_tokens)
        seconds = model.loading() + (plans + 1) * one
        return model.evaluated(seconds, [Amount(responses, 0, measures.window)])

    def written(self, checkpoint: str, plans: int) -> Need:
        """Each plan is loaded beside the unchanged model, and writes to one prompt after the other."""
        model, measures = self._on_machine(checkpoint), self._settings.chunking.measures
        prompts, most = len(measures.written_prompts), measures.written_tokens or 0
        one = model.reading_weights + prompts * (model.generating(most) + model.reading(1, most, 1))
        work = [Amount(prompts, prompts * most, most, most)]
        need = model.evaluated(model.loading() + (plans + 1) * one, work)
        weights = model.size.weights(self._machine.dtype) // MB
        on_gpu = self._machine.on_gpu
        return replace(
            need,
            tokens=(plans + 1) * need.tokens,
            gpu_mb=need.gpu_mb + weights * on_gpu,
            mem_mb=need.mem_mb + weights * (not on_gpu),
        )

    @cache
    def latency(self, checkpoint: str) -> Need:
        """As if no plan were faster than the unchanged model, over however many devices."""
        model = self._on_machine(checkpoint)
        layers, chunking = model.size.layers, self._settings.chunking
        measures, question = chunking.measures, self._work.question_tokens
        plans = measures.latency_plans(
            CheckpointId.parse(checkpoint).model, layers, chunking.checkpoints
        )
        chunks = [len(plan.plan(layers).chunks) for plan in plans]
        loads = sum(map(self._work.placements, chunks))
        tokens, reading, generating = 0, 0.0, 0.0
        for rows, rounds in self._work.latency_rounds(plans, layers).items():
            batches = rounds * math.ceil(measures.questions / rows)
            reading += model.reading(rounds * measures.questions, question, rows)
            generating += model.generating(batches * (measures.new_tokens - 1), rows)
            tokens += rounds * measures.questions * (question + measures.new_tokens - 1)
        seconds = model.loading() + loads * model.reading_weights
        most_rows = Amount(max(measures.batch_sizes), 0, 2 * question)
        need = model.evaluated(seconds + reading + generating, [most_rows])
        most = max(chunks, default=1)
        devices = max((number for number in measures.devices if number <= most), default=1)
        # Beside the unchanged model the plan's, as a whole until it is spread.
        weights = int(_WITH_WRAPPER * model.size.weights(self._machine.dtype)) // MB
        on_gpu = self._machine.on_gpu
        return replace(
            need,
            tokens=tokens,
            gpus=need.gpus * devices,
            gpu_mb=need.gpu_mb + weights * on_gpu,
            mem_mb=need.mem_mb + weights * (not on_gpu),
        )

    # ----- training ---------------------------------------------------------------------------------

    @cache
    def training_before_test(self, checkpoint: str, tasks: tuple[str, ...]) -> Need:
        harmony, model = self._settings.harmony, self._on_machine(checkpoint)
        recipe = harmony.task_recipe(self._settings.source)
        rates, seeds = max(1, len(recipe.learning_rates)), max(1, len(harmony.seeds))
        seconds, tokens, longest = model.loading(), 0, 0
        for task in tasks:
            row, test = self._work.row(task), self._work.test(task, 0)
            items = min(row.training_items, recipe.max_training_items or row.training_items)
            held_out = min(items, recipe.max_validation_items or items)
            trained = items * row.training_tokens  # tokens
            # After each epoch the held-out items are asked as the test is, with what is generated for each.
            length = row.training_tokens
            choosing = Amount(held_out, held_out * length, length, row.new_tokens)
            # Adapters leave the model as it was loaded; what else is trained changes it, and the test takes one more.
            one = 0 if recipe.adapters_alone else (rates + 1) * model.reading_weights
            one += rates * recipe.epochs * model.measuring(choosing)
            one += rates * model.training(recipe, items, trained)
            seconds += seeds * (one + model.measuring(test))
            tokens += seeds * rates * recipe.epochs * trained
            longest = max(longest, length)
        length = min(recipe.max_length, LONGEST_SAMPLE * longest)

        return replace(
            model.trained(recipe, seconds, tokens, length),
            disk_mb=len(tasks),  # records; what was trained is not kept
        )

    @cache
    def corpus(self, checkpoint: str, megabytes: float) -> Need:
        recipe = self._settings.harmony.task_recipe(self._settings.source)
        model, tokens = self._on_machine(checkpoint), megabytes * MB / BYTES_A_TOKEN
        seconds = model.loading() + 2 * model.windows(tokens / 10)
        seconds += model.training(recipe, tokens / recipe.max_length, tokens)
        return replace(model.trained(recipe, seconds, int(tokens), recipe.max_length), disk_mb=1)

    @cache
    def stage(self, checkpoint: str) -> Need:
        """The last stage of a checkpoint's training."""
        wanted = CheckpointId.parse(checkpoint)
        recipe = self._settings.stage_recipe(wanted.stages[-1])[1]
        samples, each = self._work.stage_samples(recipe)
        held_out = samples * recipe.validation
        trained = samples - held_out
        steps = recipe.epochs * trained / recipe.batch_size
        done = min(steps, recipe.max_steps or steps) / steps
        evaluations = max(1, steps * done / recipe.evaluate_every) if recipe.evaluate_every else 1
        model = self._on_machine(checkpoint)
        evaluating = model.reading(held_out, each, rows=8) * evaluations / recipe.gpus
        seconds = model.loading() + evaluating
        seconds += done * model.training(recipe, trained, trained * each)
        tokens = int(done * recipe.epochs * samples * each)
        return model.trained(recipe, seconds, tokens, recipe.max_length)

    # ----- preparing --------------------------------------------------------------------------------

    def samples(self, recipe: str) -> Need:
        tokens = self._work.tokenised(self._settings.training.recipes[recipe])
        mb = math.ceil(tokens * BYTES_A_TOKEN / MB)
        return Need(START + tokens / _TOKENISED_A_SECOND, 4_000, disk_mb=mb, tokens=tokens)

    def building(self, checkpoint: str) -> Need:
        """The base's weights are linked, never loaded; adapters are a few percent of them."""
        new = int(self._on_machine(checkpoint).size.parameters * 0.1) * BYTES["float32"]
        return Need(START + new / MB / 100, 2_000 + new // MB, disk_mb=new // MB)

    def verification(self, checkpoint: str) -> Need:
        """The model twice, in float32, on a few sentences."""
        model = self._on_machine(checkpoint)
        weights = 2 * model.size.weights("float32") // MB
        need = model.evaluated(model.loading(_START_VERIFYING) + model.reading_weights, [])
        return replace(need, mem_mb=need.mem_mb + weights, gpu_mb=need.gpu_mb + weights)

    def world(self) -> Need:
        """The generated datasets."""
        return Need(4 + self._settings.miniature.items / 40, 3_000, disk_mb=60)

    def miniature_model(self) -> Need:
        """A few megabytes are copied; it waits for no library that runs models."""
        return Need(2, 1_000, disk_mb=8)

    def download(self, kind: str, repository: str) -> Need:
        row = self._settings.models.get(repository) if kind == "model" else None
        unknown = 1_000 if kind == "model" else self._work.dataset_mb.get(repository, 500)
        # Published in 16 bits, but for the oldest.
        size = row.parameters * (4 if row.family == "GPT-2" else 2) // MB if row else unknown
        return Need(
            5 + size / self._cluster.download_mb_per_second,
            2_000,
            disk_mb=size,
            download_mb=size,
            is_guess=kind == "model" and row is None,
        )

    def too_large(self) -> list[str]:
        """A sentence for each job that the GPUs which it asks for cannot hold."""
        if not self._machine.on_gpu:
            return []
        settings = self._settings
        evaluated = [*settings.harmony.models, *settings.prompts.models]
        evaluated = [name for name in evaluated if name not in settings.served]
        evaluated += [str(one) for one in settings.mmlu_checkpoints()]
        sizes = {
            f"{name} cannot be evaluated": self._on_machine(name).smallest_mb
            for name in dict.fromkeys(evaluated)
        }
        harmony, trained = settings.harmony, "{} cannot be trained with the recipe {!r}"
        tasks = tasks_of(settings, "harmony", "train_before_test")
        for name in harmony.models if "train_before_test" in harmony.protocols else ():
            need = self.training_before_test(name, tasks)
            sizes[trained.format(name, harmony.recipe or "published")] = need.gpu_mb
        for one in settings.trained_checkpoints():
            recipe, _ = settings.stage_recipe(one.stages[-1])
            sizes[trained.format(one, recipe)] = self.stage(str(one)).gpu_mb
        for name in settings.chunking.timed_models:
            sizes[f"The times of {name} cannot be taken"] = self.latency(name).gpu_mb
        held = settings.devices[self._cluster.gpu].memory_gb
        return [
            f"{what}: it needs {mb / 1_000:.0f} GB on each GPU, and cluster.gpu"
            f" {self._cluster.gpu!r} has {held}; expected larger GPUs, more of them in a node for"
            " an evaluation, or another number format."
            for what, mb in sizes.items()
            if mb > held * 1_000
        ]
