"""What the steps are asked that build chunked checkpoints, verify them and measure plans."""

from typing import TYPE_CHECKING, Literal

from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute, Loading
from workflow_scripts.settings.plan_measures import LatencyMeasures, PerplexityMeasures
from workflow_scripts.settings.plan_search import PlanSearch
from workflow_scripts.settings.request import StepRequest

if TYPE_CHECKING:
    from workflow_scripts.settings.load import Settings


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


class SearchedModels(StepRequest):
    """Whose plans were searched: what the table needs to propose the same plans from the record."""

    models: tuple[str, ...]
    search: PlanSearch
    seed: int


def build_request(settings: "Settings", id: str) -> BuildRequest:
    return BuildRequest(id=id, checkpoint=settings.checkpoints()[id], seed=settings.seed)


def verify_request(settings: "Settings") -> VerifyRequest:
    return VerifyRequest(compute=Loading.part_of(settings.compute), seed=settings.seed)


def perplexity_request(settings: "Settings", model: str) -> PerplexityRequest:
    plans = settings.chunking.measures.perplexity_plans(model, settings.model(model).layers)
    return _perplexity_request(settings, "chunking", plans)


def stage_perplexity_request(settings: "Settings") -> PerplexityRequest:
    """A checkpoint is measured as it is: its plan is part of it."""
    return _perplexity_request(settings, "training", ())


def _perplexity_request(
    settings: "Settings", study: str, plans: tuple[Checkpoint, ...]
) -> PerplexityRequest:
    return PerplexityRequest(
        study=study,
        plans=plans,
        measures=PerplexityMeasures.part_of(settings.chunking.measures),
        compute=settings.compute,
        seed=settings.seed,
    )


def search_request(settings: "Settings") -> SearchRequest:
    return SearchRequest(
        search=_search(settings),
        window=settings.chunking.measures.window,
        compute=settings.compute,
        seed=settings.seed,
    )


def searched_models(settings: "Settings") -> SearchedModels:
    return SearchedModels(
        models=settings.chunking.searched_models, search=_search(settings), seed=settings.seed
    )


def _search(settings: "Settings") -> PlanSearch:
    return settings.chunking.search.model_copy(update={"models": None})


def latency_request(settings: "Settings", model: str) -> LatencyRequest:
    measures = settings.chunking.measures
    return LatencyRequest(
        plans=measures.latency_plans(
            model, settings.model(model).layers, settings.chunking.checkpoints
        ),
        measures=LatencyMeasures.part_of(measures),
        compute=Loading.part_of(settings.compute),
        seed=settings.seed,
    )
