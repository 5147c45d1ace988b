"""What each job needs, from the config and its tables alone: time, memory, GPUs and disk.

One function a kind of job, called by the rules for what they ask for and by `snakemake plan` for
what it adds up to. Times are what is expected; a job asks for more (`Need.asked_minutes`).
"""

# ruff: noqa: B019  (what methods remember lives as long as the process: so does the one planner in it)

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.machine import START, Machine
from workflow_scripts.planning.memory import BYTES, MB
from workflow_scripts.planning.need import Need, in_one_job
from workflow_scripts.planning.together import at_once_of
from workflow_scripts.planning.work import BYTES_A_TOKEN, Amount, Work
from workflow_scripts.settings.harmony import Together
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.measures import latency_request
from workflow_scripts.settings.requests import Request

_START_LIGHTEVAL, _START_VERIFYING = 22, START + 10  # instead of START
# A submitted model of unknown size, on one task or all, is planned with so much.
UNKNOWN_SECONDS = 4 * 3600
_WITH_WRAPPER = 1.2  # a model with aggregation and adapters, over the same without
_TOKENISED_A_SECOND = 100_000  # by one process


def _one_after_the_other(
    need: Callable[[str], Need], names: Sequence[str], start: float = START
) -> Need:
    return in_one_job([need(name) for name in names], start)


class Planner:
    """Needs of jobs by the names that their wildcards have; each is computed once."""

    def __init__(self, settings: Settings):
        self._settings, self._cluster = settings, settings.cluster
        self._machine, self._work = Machine(settings), Work(settings)

    def _layers(self, checkpoint: str) -> int:
        return self._settings.model(CheckpointId.parse(checkpoint).model).layers

    # ----- measuring --------------------------------------------------------------------------------

    def _measured(self, checkpoint: str, work: list[Amount], start: float = START) -> Need:
        """The model is loaded once: times add up, the largest counts for memory."""
        seconds = self._machine.loading(checkpoint, start)
        seconds += sum(self._machine.measuring(checkpoint, one) for one in work)
        return self._machine.evaluated(checkpoint, seconds, work)

    @cache
    def evaluation(self, checkpoint: str, tasks: tuple[str, ...], shots: int = 0) -> Need:
        return self._measured(checkpoint, [self._work.test(task, shots) for task in tasks])

    def evaluations(self, checkpoints: tuple[str, ...], tasks: tuple[str, ...], shots: int) -> Need:
        return _one_after_the_other(lambda name: self.evaluation(name, tasks, shots), checkpoints)

    def mmlu(self, *checkpoints: str) -> Need:
        work, start = [self._work.mmlu()], _START_LIGHTEVAL
        return _one_after_the_other(
            lambda name: self._measured(name, work, start), checkpoints, start
        )

    def prompt_runs(self, checkpoint: str, *runs: str) -> Need:
        def need(run: str) -> Need:
            return self._measured(checkpoint, [self._work.prompt_run(run)])

        return _one_after_the_other(need, runs)

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
    def perplexity(self, checkpoint: str, plans: int) -> Need:
        """The texts are read in the model's own plan and in so many others."""
        machine, measures = self._machine, self._settings.chunking.measures
        responses = measures.responses * len(measures.difficulties)
        one = 0.5 + machine.windows(checkpoint, self._work.wikitext_tokens)
        one += machine.reading(checkpoint, responses, self._work.response_tokens)
        seconds = machine.loading(checkpoint) + (plans + 1) * one
        return machine.evaluated(checkpoint, seconds, [Amount(responses, 0, measures.window)])

    def stage_perplexity(self, *checkpoints: str) -> Need:
        return _one_after_the_other(lambda name: self.perplexity(name, 0), checkpoints)

    def plan_search(self, checkpoint: str) -> Need:
        """Every layer left out, every stretch of layers side by side, and the plans that these propose."""
        search, layers = self._settings.chunking.search, self._layers(checkpoint)
        proposed = 2 * (len(search.speed_ups) * (search.proposals + 1) + search.random_plans)
        plans = layers * (layers + 1) // 2 + proposed + 2
        window = self._settings.chunking.measures.window
        one = 0.1 + self._machine.reading(checkpoint, search.tokens / window, window)
        seconds = self._machine.loading(checkpoint) + plans * one
        return self._machine.evaluated(checkpoint, seconds, [Amount(1, 0, window)])

    @cache
    def latency(self, checkpoint: str) -> Need:
        """As if no plan were faster than the unchanged model, over however many devices."""
        request = latency_request(self._settings, CheckpointId.parse(checkpoint).model)
        layers = self._layers(checkpoint)
        measures, machine, question = request.measures, self._machine, self._work.question_tokens
        chunks = [len(plan.plan(layers).chunks) for plan in request.plans]
        loads = sum(map(self._work.placements, chunks)) + len(measures.precisions) * len(chunks)
        tokens, reading, generating = 0, 0.0, 0.0
        for rows, rounds in self._work.latency_rounds(request.plans, layers).items():
            batches = rounds * math.ceil(measures.questions / rows)
            reading += machine.reading(checkpoint, rounds * measures.questions, question, rows)
            generating += machine.generating(checkpoint, batches * (measures.new_tokens - 1), rows)
            tokens += rounds * measures.questions * (question + measures.new_tokens - 1)
        seconds = machine.loading(checkpoint) + loads * machine.reading_weights(checkpoint)
        most_rows = Amount(max(measures.batch_sizes), 0, 2 * question)
        need = machine.evaluated(checkpoint, seconds + reading + generating, [most_rows])
        most = max(chunks, default=1)
        devices = max((number for number in measures.devices if number <= most), default=1)
        # Beside the unchanged model the plan's, as a whole until it is spread, in the largest number format.
        formats = (request.compute.dtype, *measures.precisions)
        largest = max(map(machine.size(checkpoint).weights, formats))
        weights = int(_WITH_WRAPPER * largest) // MB
        return replace(
            need,
            tokens=tokens,
            gpus=need.gpus * devices,
            gpu_mb=need.gpu_mb + weights * machine.on_gpu,
            mem_mb=need.mem_mb + weights * (not machine.on_gpu),
            mostly="generating" if generating > reading else "reading",
        )

    # ----- training ---------------------------------------------------------------------------------

    @cache
    def training_before_test(self, checkpoint: str, tasks: tuple[str, ...]) -> Need:
        harmony, machine = self._settings.harmony, self._machine
        recipe = harmony.task_recipe(self._settings.source)
        rates, seeds = max(1, len(recipe.learning_rates)), max(1, len(harmony.seeds))
        weights = machine.reading_weights(checkpoint)
        seconds, tokens, longest = START + weights, 0, 0
        trainings: list[tuple[float, float]] = []
        for task in tasks:
            row, test = self._work.row(task), self._work.test(task, 0)
            items = min(row.training_items, recipe.max_training_items or row.training_items)
            held_out = min(items, recipe.max_validation_items or items)
            trained = items * row.training_tokens
            trainings += [(items, trained)] * (seeds * rates)
            # After each epoch the held-out items are asked as the test is, with what is generated for each.
            choosing = Amount(
                held_out, held_out * row.training_tokens, row.training_tokens, row.new_tokens
            )
            # Adapters leave the model as it was loaded; what else is trained changes it, and the test takes one more.
            one = 0 if recipe.adapters_alone else (rates + 1) * weights
            one += rates * recipe.epochs * machine.measuring(checkpoint, choosing)
            seconds += seeds * (one + machine.measuring(checkpoint, test))
            tokens += seeds * rates * recipe.epochs * trained
            longest = max(longest, row.training_tokens)
        length = min(recipe.max_length, 4 * longest)

        def at_once(together: Together) -> int:
            return at_once_of(together, len(trainings)) if recipe.shares_steps else 1

        def whole(together: Together) -> float:
            shared = None
            if (some := at_once(together)) > 1:
                shared = machine.training_together(checkpoint, recipe, trainings, some, length)
            if shared is None:
                shared = sum(machine.training(checkpoint, recipe, *one) for one in trainings)
            return seconds + shared

        chosen = self._settings.trained_together
        planned = whole(chosen)
        choices: tuple[Together, ...] = (1, "auto") if recipe.shares_steps else ()
        return replace(
            machine.trained(checkpoint, recipe, planned, tokens, length, at_once(chosen)),
            disk_mb=len(tasks),  # records; what was trained is not kept
            by_together={str(choice): whole(choice) / planned for choice in choices},
        )

    @cache
    def corpus(self, checkpoint: str, megabytes: float) -> Need:
        recipe = self._settings.harmony.task_recipe(self._settings.source)
        tokens = megabytes * MB / BYTES_A_TOKEN
        seconds = self._machine.loading(checkpoint)
        seconds += self._machine.training(checkpoint, recipe, tokens / recipe.max_length, tokens)
        seconds += 2 * self._machine.windows(checkpoint, tokens / 10)
        need = self._machine.trained(checkpoint, recipe, seconds, int(tokens), recipe.max_length)
        return replace(need, disk_mb=1)

    @cache
    def stage(self, checkpoint: str) -> Need:
        """The last stage of a checkpoint's training."""
        recipe = self._settings.stage_recipe(CheckpointId.parse(checkpoint).stages[-1])[1]
        samples, each = self._work.stage_samples(recipe)
        held_out = samples * recipe.validation
        trained = samples - held_out
        steps = recipe.epochs * trained / recipe.batch_size
        done = min(steps, recipe.max_steps or steps) / steps
        evaluations = max(1, steps * done / recipe.evaluate_every) if recipe.evaluate_every else 1
        evaluating = self._machine.reading(checkpoint, held_out, each, rows=8)
        seconds = self._machine.loading(checkpoint) + evaluating * evaluations / recipe.gpus
        seconds += done * self._machine.training(checkpoint, recipe, trained, trained * each)
        tokens = int(done * recipe.epochs * samples * each)
        return self._machine.trained(checkpoint, recipe, seconds, tokens, recipe.max_length)

    def stages(self, *checkpoints: str) -> Need:
        return _one_after_the_other(self.stage, checkpoints)

    # ----- preparing --------------------------------------------------------------------------------

    def samples(self, recipe: str) -> Need:
        tokens = self._work.tokenised(self._settings.training.recipes[recipe])
        mb = math.ceil(tokens * BYTES_A_TOKEN / MB)
        return Need(START + tokens / _TOKENISED_A_SECOND, 4_000, disk_mb=mb, tokens=tokens)

    def building(self, *checkpoints: str) -> Need:
        """The base's weights are linked, never loaded; adapters are a few percent of them."""

        def need(checkpoint: str) -> Need:
            new = int(self._machine.size(checkpoint).parameters * 0.1) * BYTES["float32"]
            return Need(START + new / MB / 100, 2_000 + new // MB, disk_mb=new // MB)

        return _one_after_the_other(need, checkpoints)

    def verification(self, *checkpoints: str) -> Need:
        """The model twice, in float32, on a few sentences."""
        machine, start = self._machine, _START_VERIFYING

        def need(checkpoint: str) -> Need:
            weights = 2 * machine.size(checkpoint).weights("float32") // MB
            seconds = machine.loading(checkpoint, start) + machine.reading_weights(checkpoint)
            one = machine.evaluated(checkpoint, seconds, [])
            return replace(one, mem_mb=one.mem_mb + weights, gpu_mb=one.gpu_mb + weights)

        return _one_after_the_other(need, checkpoints, start)

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
        evaluated += [str(one) for one in settings.mmlu_checkpoints()]
        sizes = {
            f"{name} cannot be evaluated": self._machine.smallest_mb(name)
            for name in dict.fromkeys(evaluated)
        }
        trained = "{} cannot be trained with the recipe {!r}"
        if "train_before_test" in settings.harmony.protocols:
            recipe = settings.harmony.recipe or "published"
            for name in settings.harmony.models:
                need = self.training_before_test(name, settings.harmony.tasks)
                sizes[trained.format(name, recipe)] = need.gpu_mb
        for one in settings.staged_checkpoints():
            if one.stages:
                recipe, _ = settings.stage_recipe(one.stages[-1])
                sizes[trained.format(one, recipe)] = self.stage(str(one)).gpu_mb
        for name in settings.chunking.timed_models:
            sizes[f"The times of {name} cannot be taken"] = self.latency(name).gpu_mb
        held = settings.devices[self._cluster.gpu].memory_gb
        return [
            f"{what}: it needs {mb / 1_000:.0f} GB on each GPU, and cluster.gpu"
            f" {self._cluster.gpu!r} has {held}; expected a larger GPU, another number format, or in"
            " the recipe more gpus and sharded: true."
            for what, mb in sizes.items()
            if mb > held * 1_000
        ]
