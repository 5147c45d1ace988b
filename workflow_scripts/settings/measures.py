"""The requests of steps that build and verify checkpoints, measure plans, ask MMLU and show training items."""

from typing import Literal

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute, Loading
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_measures import LatencyMeasures, PerplexityMeasures
from workflow_scripts.settings.plan_search import PlanSearch
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.sentences import shown


class BuildRequest(StepRequest):
    id: str
    checkpoint: Checkpoint
    seed: int


class VerifyRequest(StepRequest):
    compute: Loading
    seed: int


class PerplexityRequest(StepRequest):
    """The perplexity of a model as it is, and in each of the plans."""

    study: Literal["chunking", "training"]
    plans: tuple[Checkpoint, ...]
    measures: PerplexityMeasures
    compute: Compute
    seed: int


class LatencyRequest(StepRequest):
    plans: tuple[Checkpoint, ...]
    measures: LatencyMeasures
    compute: Loading
    seed: int


class SearchRequest(StepRequest):
    """What is measured to propose plans of a model, and the proposals."""

    search: PlanSearch  # without its models
    window: int
    compute: Compute
    seed: int


class MmluRequest(StepRequest):
    shots: int
    max_items_per_subject: int | None
    compute: Compute
    seed: int


class ExplainTrainingRequest(StepRequest):
    task: str  # as lm-eval names it
    number: int
    recipe: TaskRecipe
    chat_template: bool
    seed: int


class SearchedModels(StepRequest):
    """Whose plans were searched: what the table needs to propose the same plans from the record."""

    models: tuple[str, ...]
    search: PlanSearch
    seed: int


def build_request(settings: Settings, id: str) -> BuildRequest:
    return BuildRequest(id=id, checkpoint=settings.checkpoints()[id], seed=settings.seed)


def verify_request(settings: Settings) -> VerifyRequest:
    return VerifyRequest(compute=Loading.part_of(settings.compute), seed=settings.seed)


def perplexity_request(settings: Settings, model: str) -> PerplexityRequest:
    plans = settings.chunking.measures.perplexity_plans(model, settings.model(model).layers)
    return _perplexity_request(settings, "chunking", plans)


def stage_perplexity_request(settings: Settings) -> PerplexityRequest:
    """A checkpoint is measured as it is: its plan is part of it."""
    return _perplexity_request(settings, "training", ())


def _perplexity_request(
    settings: Settings, study: str, plans: tuple[Checkpoint, ...]
) -> PerplexityRequest:
    return PerplexityRequest(
        study=study,
        plans=plans,
        measures=PerplexityMeasures.part_of(settings.chunking.measures),
        compute=settings.compute,
        seed=settings.seed,
    )


def search_request(settings: Settings) -> SearchRequest:
    return SearchRequest(
        search=_search(settings),
        window=settings.chunking.measures.window,
        compute=settings.compute,
        seed=settings.seed,
    )


def searched_models(settings: Settings) -> SearchedModels:
    return SearchedModels(
        models=settings.chunking.searched_models, search=_search(settings), seed=settings.seed
    )


def _search(settings: Settings) -> PlanSearch:
    return settings.chunking.search.model_copy(update={"models": None})


def latency_request(settings: Settings, model: str) -> LatencyRequest:
    measures = settings.chunking.measures
    return LatencyRequest(
        plans=measures.latency_plans(
            model, settings.model(model).layers, settings.chunking.checkpoints
        ),
        measures=LatencyMeasures.part_of(measures),
        compute=Loading.part_of(settings.compute),
        seed=settings.seed,
    )


def mmlu_request(settings: Settings) -> MmluRequest:
    return MmluRequest(
        shots=settings.mmlu.shots,
        max_items_per_subject=settings.mmlu.max_items_per_subject,
        compute=settings.compute,
        seed=settings.seed,
    )


def explained_task(settings: Settings) -> tuple[str, int]:
    """The task, as the tasks table names it, and the number of the training item."""
    named, _, number = (settings.explain or "").partition("/")
    trained = [name for name in settings.harmony.tasks if settings.task(name).training]
    task = named or next(iter(trained), settings.harmony.tasks[0])
    if task not in settings.tasks:
        raise UserError(
            f"explain is {shown(settings.explain)}, which begins with the name of a prompt run; expected"
            " a task, as in sst2/3, or `snakemake explain_prompt`, which shows prompt runs."
        )
    return task, int(number or 0)


def explain_training_request(settings: Settings) -> ExplainTrainingRequest:
    task, number = explained_task(settings)
    return ExplainTrainingRequest(
        task=settings.task(task).harness_task,
        number=number,
        recipe=settings.harmony.task_recipe(settings.source),
        chat_template=settings.harmony.chat_template,
        seed=settings.seed,
    )
