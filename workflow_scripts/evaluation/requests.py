"""Build the parameters of the jobs that measure chunk plans and MMLU."""

from typing import Literal

from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.compute import Compute, Loading
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.mmlu import MmluPrompt
from workflow_scripts.settings.plan_measures import (
    LatencyMeasures,
    PerplexityMeasures,
)
from workflow_scripts.settings.settings import Settings


class VerifyRequest(JobParams):
    compute: Loading
    seed: int


class PerplexityRequest(JobParams):
    """The perplexity of the unchanged model and of each plan."""

    study: Literal["chunking", "training"]
    plans: tuple[Checkpoint, ...]
    measures: PerplexityMeasures
    compute: Compute
    seed: int


class LatencyRequest(JobParams):
    plans: tuple[Checkpoint, ...]
    measures: LatencyMeasures
    compute: Loading
    seed: int


class MmluRequest(JobParams):
    shots: int
    prompt: MmluPrompt
    max_items_per_subject: int | None
    compute: Compute
    seed: int


def build_verify_request(settings: Settings) -> VerifyRequest:
    return VerifyRequest(compute=Loading.select_fields(settings.compute), seed=settings.seed)


def build_perplexity_request(settings: Settings, model: str) -> PerplexityRequest:
    plans = settings.chunking.measures.build_perplexity_plans(model, settings.model(model).layers)
    return _build_perplexity_request(settings, "chunking", plans)


def build_stage_perplexity_request(settings: Settings) -> PerplexityRequest:
    """Build the request of a checkpoint, without further plans: its own plan is part of the checkpoint."""
    return _build_perplexity_request(settings, "training", ())


def _build_perplexity_request(
    settings: Settings, study: str, plans: tuple[Checkpoint, ...]
) -> PerplexityRequest:
    compute = settings.compute
    attention = compute.choose_chunked_attention(compute.dtype)
    return PerplexityRequest(
        study=study,
        plans=plans,
        measures=PerplexityMeasures.select_fields(settings.chunking.measures),
        compute=compute.model_copy(update={"attention": attention}),
        seed=settings.seed,
    )


def build_latency_request(settings: Settings, model: str) -> LatencyRequest:
    measures = settings.chunking.measures
    return LatencyRequest(
        plans=measures.build_latency_plans(
            model, settings.model(model).layers, settings.chunking.checkpoints
        ),
        measures=LatencyMeasures.select_fields(measures),
        compute=Loading.select_fields(settings.compute),
        seed=settings.seed,
    )


def build_mmlu_request(settings: Settings) -> MmluRequest:
    return MmluRequest(
        shots=settings.mmlu.shots,
        prompt=settings.mmlu.prompt,
        max_items_per_subject=settings.mmlu.max_items_per_subject,
        compute=settings.compute,
        seed=settings.seed,
    )
