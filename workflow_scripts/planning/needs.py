"""What each job needs, from the config and its tables alone: time, memory, GPUs and disk.

One function a kind of job, called by the rules for what they ask for and by `snakemake plan` for
what it adds up to. Times are what is expected; a job asks for more (`Need.asked_minutes`).
"""

# ruff: noqa: B019  (what methods remember lives as long as the process: so does the one planner in it)

import math
from dataclasses import replace
from functools import cache

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.arithmetic import BYTES, MB
from workflow_scripts.planning.machine import START, Machine
from workflow_scripts.planning.need import Need
from workflow_scripts.planning.spent import Spent
from workflow_scripts.planning.together import at_once_of
from workflow_scripts.planning.work import BYTES_A_TOKEN, Amount, Work
from workflow_scripts.settings.harmony import Together
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.measures import latency_request
from workflow_scripts.settings.requests import Request

_START_LIGHTEVAL = 22  # instead of START
# A submitted model of unknown size, on one task or all, is planned with so much.
UNKNOWN_SECONDS = 4 * 3600
_WITH_WRAPPER = 1.2  # a model with aggregation and adapters, over the same without


class Planner:
    """Needs of jobs by the names that their wildcards have; each is computed once."""

    def __init__(self, settings: Settings):
        self._settings, self._cluster = settings, settings.cluster
        self._machine, self._work = Machine(settings), Work(settings)

    @cache
    def evaluation(self, checkpoint: str, tasks: tuple[str, ...], shots: int = 0) -> Need:
        """Tasks of one model, loaded once: their times add up, the largest counts for memory."""
        return self._measured(checkpoint, [self._work.test(task, shots) for task in tasks])

    @cache
    def training_before_test(self, checkpoint: str, tasks: tuple[str, ...]) -> Need:
        harmony, machine = self._settings.harmony, self._machine
        recipe = harmony.task_recipe(self._settings.source)
        rates = max(1, len(recipe.learning_rates))
        weights = machine.reading_weights(checkpoint)
        seeds = max(1, len(harmony.seeds))
        spent, tokens, longest = Spent(starting=START) + weights, 0, 0
        trainings: list[tuple[float, float]] = []
        for task in tasks:
            row, test = self._work.row(task), self._work.test(task, 0)
            items = min(row.training_items, recipe.max_training_items or row.training_items)
            held_out = min(items, recipe.max_validation_items or items)
            trained = items * row.training_tokens
            # After each epoch the held-out items are asked as the test is, with what is generated for each.
            choosing = Amount(
                held_out, held_out * row.training_tokens, row.training_tokens, row.new_tokens
            )
            trainings += [(items, trained)] * (seeds * rates)
            tried = machine.measuring(checkpoint, choosing).times(recipe.epochs)
            # Adapters leave the model as it was loaded; what else is trained changes it, and the test takes one more.
            loaded = weights.times(0 if recipe.adapters_alone else rates + 1)
            one = loaded + tried.times(rates) + machine.measuring(checkpoint, test)
            spent += one.times(seeds)
            tokens += seeds * rates * recipe.epochs * trained
            longest = max(longest, row.training_tokens)
        length = min(recipe.max_length, 4 * longest)

        def training(together: Together) -> Spent:
            at_once = at_once_of(together, len(trainings))
            if at_once > 1 and recipe.shares_steps:
                shared = machine.training_together(checkpoint, recipe, trainings, at_once, length)
                if shared is not None:
                    return shared
            each = (machine.training(checkpoint, recipe, *one) for one in trainings)
            return sum(each, start=Spent())

        whole = spent + training(self._settings.trained_together)
        ways: tuple[Together, ...] = (1, "auto") if recipe.shares_steps else ()
        need = machine.trained(
            checkpoint,
            recipe,
            whole,
            tokens,
            length,
            at_once_of(self._settings.trained_together, len(trainings))
            if recipe.shares_steps
            else 1,
        )
        return replace(
            need,
            disk_mb=len(tasks),  # records; what was trained is not kept
            ways={str(way): (spent + training(way)).seconds / whole.seconds for way in ways},
        )

    @cache
    def corpus(self, checkpoint: str, megabytes: float) -> Need:
        recipe = self._settings.harmony.task_recipe(self._settings.source)
        tokens = megabytes * MB / BYTES_A_TOKEN
        spent = self._machine.loading(checkpoint)
        spent += self._machine.training(checkpoint, recipe, tokens / recipe.max_length, tokens)
        spent += self._machine.windows(checkpoint, tokens / 10).times(2)
        need = self._machine.trained(checkpoint, recipe, spent, int(tokens), recipe.max_length)
        return replace(need, disk_mb=1)

    def mmlu(self, checkpoint: str) -> Need:
        work = self._work.mmlu()
        spent = self._machine.loading(checkpoint, start=_START_LIGHTEVAL)
        spent += self._machine.measuring(checkpoint, work)
        return self._machine.evaluated(checkpoint, spent, [work])

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

    def _measured(self, checkpoint: str, work: list[Amount]) -> Need:
        measuring = (self._machine.measuring(checkpoint, one) for one in work)
        return self._machine.evaluated(
            checkpoint, sum(measuring, start=self._machine.loading(checkpoint)), work
        )

    def prompt_run(self, checkpoint: str, run: str) -> Need:
        return self._measured(checkpoint, [self._work.prompt_run(run)])

    @cache
    def perplexity(self, checkpoint: str, plans: int) -> Need:
        """The texts are read in the model's own plan and in so many others."""
        measures = self._settings.chunking.measures
        responses = measures.responses * len(measures.difficulties)
        one = Spent(handling=0.5) + self._machine.windows(checkpoint, self._work.wikitext_tokens)
        one += self._machine.reading(checkpoint, responses, self._work.response_tokens)
        spent = self._machine.loading(checkpoint) + one.times(plans + 1)
        return self._machine.evaluated(checkpoint, spent, [Amount(responses, 0, measures.window)])

    def stage_perplexity(self, checkpoint: str) -> Need:
        return self.perplexity(checkpoint, 0)

    def plan_search(self, checkpoint: str) -> Need:
        """Every layer left out, every stretch of layers side by side, and the plans that these propose."""
        search = self._settings.chunking.search
        layers = self._settings.model(CheckpointId.parse(checkpoint).model).layers
        proposed = 2 * (len(search.speed_ups) * (search.proposals + 1) + search.random_plans)
        plans = layers * (layers + 1) // 2 + proposed + 2
        window = self._settings.chunking.measures.window
        one = Spent(handling=0.1) + self._machine.reading(
            checkpoint, search.tokens / window, window
        )
        spent = self._machine.loading(checkpoint) + one.times(plans)
        return self._machine.evaluated(checkpoint, spent, [Amount(1, 0, window)])

    @cache
    def latency(self, checkpoint: str) -> Need:
        """As if no plan were faster than the unchanged model, over however many devices."""
        model = CheckpointId.parse(checkpoint).model
        asked, layers = latency_request(self._settings, model), self._settings.model(model).layers
        measures, machine, question = asked.measures, self._machine, self._work.question_tokens
        chunks = [len(plan.plan(layers).chunks) for plan in asked.plans]
        loads = sum(map(self._work.placements, chunks)) + len(measures.precisions) * len(chunks)
        spent = machine.loading(checkpoint) + machine.reading_weights(checkpoint).times(loads)
        tokens = 0
        for rows, rounds in self._work.latency_rounds(asked.plans, layers).items():
            batches = rounds * math.ceil(measures.questions / rows)
            spent += machine.reading(checkpoint, rounds * measures.questions, question, rows)
            spent += machine.generating(checkpoint, batches * (measures.new_tokens - 1), rows)
            tokens += rounds * measures.questions * (question + measures.new_tokens - 1)
        rows = max(measures.batch_sizes)
        need = machine.evaluated(checkpoint, spent, [Amount(rows, 0, 2 * question)])
        most = max(chunks, default=1)
        devices = max((number for number in measures.devices if number <= most), default=1)
        # Beside the unchanged model the plan's, as a whole until it is spread, in the largest number format.
        formats = (asked.compute.dtype, *measures.precisions)
        largest = max(map(machine.size(checkpoint).weights, formats))
        weights = int(_WITH_WRAPPER * largest) // MB
        return replace(
            need,
            tokens=tokens,
            gpus=need.gpus * devices,
            gpu_mb=need.gpu_mb + weights * machine.on_gpu,
            mem_mb=need.mem_mb + weights * (not machine.on_gpu),
        )

    @cache
    def stage(self, checkpoint: str) -> Need:
        """The last stage of a checkpoint's training."""
        recipe = self._settings.stage_recipe(CheckpointId.parse(checkpoint).stages[-1])[1]
        samples, each = self._work.stage_samples(recipe)
        held_out = samples * recipe.validation
        steps = recipe.epochs * (samples - held_out) / recipe.batch_size
        done = min(steps, recipe.max_steps or steps) / steps
        trained = samples - held_out
        training = self._machine.training(checkpoint, recipe, trained, trained * each)
        evaluations = max(1, steps * done / recipe.evaluate_every) if recipe.evaluate_every else 1
        evaluating = self._machine.reading(checkpoint, held_out, each, rows=8)
        spent = self._machine.loading(checkpoint) + training.times(done)
        spent += evaluating.times(evaluations / recipe.gpus)
        tokens = int(done * recipe.epochs * samples * each)
        return self._machine.trained(checkpoint, recipe, spent, tokens, recipe.max_length)

    def samples(self, recipe: str) -> Need:
        """Tokenised by one process, a hundred thousand tokens a second."""
        tokens = self._work.tokenised(self._settings.training.recipes[recipe])
        mb = math.ceil(tokens * BYTES_A_TOKEN / MB)
        return Need(START + tokens / 100_000, 4_000, disk_mb=mb, tokens=tokens)

    def building(self, checkpoint: str) -> Need:
        """The base's weights are linked, never loaded; adapters are a few percent of them."""
        new = int(self._machine.size(checkpoint).parameters * 0.1) * BYTES["float32"]
        return Need(START + new / MB / 100, 2_000 + new // MB, disk_mb=new // MB)

    def verification(self, checkpoint: str) -> Need:
        """The model twice, in float32, on a few sentences."""
        weights = 2 * self._machine.size(checkpoint).weights("float32") // MB
        spent = self._machine.loading(checkpoint, start=START + 10)
        need = self._machine.evaluated(
            checkpoint, spent + self._machine.reading_weights(checkpoint), []
        )
        return replace(need, mem_mb=need.mem_mb + weights, gpu_mb=need.gpu_mb + weights)

    def world(self) -> Need:
        """The generated datasets."""
        return Need(4 + self._settings.miniature.items / 40, 3_000, disk_mb=60)

    def miniature_model(self) -> Need:
        """A few megabytes are copied; it waits for no library that runs models."""
        return Need(2, 1_000, disk_mb=8)

    def download(self, kind: str, repository: str) -> Need:
        if kind == "model":
            row = self._settings.models.get(repository)
            # Published in 16 bits, but for the oldest.
            size = row.parameters * (4 if row.family == "GPT-2" else 2) // MB if row else 1_000
            is_guess = row is None
        else:
            is_guess = False
            size = self._work.dataset_mb.get(repository, 500)
        seconds = 5 + size / self._cluster.download_mb_per_second
        return Need(seconds, 2_000, disk_mb=size, download_mb=size, is_guess=is_guess)

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
        if "train_before_test" in settings.harmony.protocols:
            recipe = settings.harmony.recipe or "published"
            for name in settings.harmony.models:
                need = self.training_before_test(name, settings.harmony.tasks)
                sizes[f"{name} cannot be trained with the recipe {recipe!r}"] = need.gpu_mb
        for one in settings.staged_checkpoints():
            if one.stages:
                recipe, _ = settings.stage_recipe(one.stages[-1])
                need = self.stage(str(one))
                sizes[f"{one} cannot be trained with the recipe {recipe!r}"] = need.gpu_mb
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
