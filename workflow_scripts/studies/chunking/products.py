"""What the study of chunked models measures and has made, before any training and after it."""

from typing import Any

from workflow_scripts.core.ids import in_paths
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.studies.chunking.requests import (
    measured_models,
    sized_checkpoints,
    timed_models,
)
from workflow_scripts.studies.product import (
    MeasuredStudy,
    WhereMade,
    figure,
    products,
    table,
)
from workflow_scripts.studies.training.products import training_records


def _measured(settings: Settings) -> Any:
    return settings.chunking.models


def _timed(settings: Settings) -> Any:
    return settings.chunking.timed_models


def _perplexity_records(settings: Settings) -> list[str]:
    written = ["written"] if settings.chunking.measures.written_tokens else []
    return [
        f"results/records/chunking/perplexity/{model}/{text}.json"
        for text in [*MEASURED_TEXTS, *written]
        for model in in_paths(settings.chunking.models)
    ]


def _latency_records(settings: Settings) -> list[str]:
    models = in_paths(settings.chunking.timed_models)
    return [f"results/records/latency/latency/{model}/mmlu.json" for model in models]


def _reports(settings: Settings) -> list[str]:
    return [f"results/verified/{name}.json" for name in in_paths(settings.checkpoints())]


MEASURED = (
    MeasuredStudy("chunking", _perplexity_records, _measured, "chunking"),
    MeasuredStudy("latency", _latency_records, _timed, "chunking", is_timed=True),
)
SUMMARY = products(
    "chunking",
    table(
        "chunking_summary",
        "A line per chunked checkpoint: size, MMLU, perplexity, time.",
        "studies.chunking.summary",
        inputs={
            "plans": WhereMade("chunking_plans"),
            "mmlu": lambda settings: (
                ["results/tables/mmlu_by_subject.csv"] if settings.mmlu_checkpoints() else []
            ),
            "stages": lambda settings: (
                ["results/tables/training_stages.csv"] if training_records(settings) else []
            ),
            "latency": WhereMade("chunking_latency"),
        },
        request=sized_checkpoints,
        version=3,
    ),
    wanted=lambda settings: (
        settings.chunking.checkpoints
        or settings.mmlu_checkpoints()
        or settings.chunking.timed_models
    ),
    target="paper",
)
_PLANS = products(
    "chunking",
    table(
        "chunking_plans",
        "The chunked checkpoints, what they are made of and how exact they are.",
        "studies.chunking.plans",
        inputs={"reports": _reports},
    ),
    wanted=lambda settings: settings.chunking.checkpoints,
)
_LATENCY = products(
    "chunking",
    table(
        "chunking_latency",
        "Times of chunked models beside the unchanged one.",
        "studies.chunking.latency",
        inputs={"scores": "results/scores/latency.parquet"},
        request=timed_models,
        version=2,
    ),
    figure(
        "chunking_latency",
        "How much faster chunked models write, by batch size.",
        "studies.chunking.latency",
        version=2,
        caption=(
            "How many times faster than the unchanged model a plan writes a token, by rows in a"
            " batch: solid with the chunks' layers run as one, dashed one after the other. A row"
            " for each model, a column for each number of devices that the chunks were spread"
            " over; the unchanged model runs on one."
        ),
    ),
    wanted=_timed,
)
_PRECISIONS = products(
    "chunking",
    table(
        "chunking_precisions",
        "Speed and loss of chunked models in other number formats.",
        "studies.chunking.precisions",
        inputs={"scores": "results/scores/latency.parquet"},
        request=timed_models,
    ),
    wanted=lambda settings: (
        settings.chunking.timed_models and settings.chunking.measures.precisions
    ),
)
_PERPLEXITY = products(
    "chunking",
    table(
        "chunking_perplexity",
        "Perplexity of untrained plans by the number of chunks.",
        "studies.chunking.perplexity",
        inputs={"scores": "results/scores/chunking.parquet"},
        request=measured_models,
    ),
    figure(
        "chunking_perplexity",
        "How much an untrained model loses when its layers are cut into chunks.",
        "studies.chunking.perplexity",
        caption=(
            "Perplexity of untrained sequential plans, as a multiple of the unchanged model's, by"
            " the number of chunks. Mean: a layer's output is the mean of its chunks' outputs, as"
            " published; residual: the shared input plus what every chunk changed."
        ),
    ),
    wanted=_measured,
)
_PRUNING = products(
    "chunking",
    table(
        "chunking_pruning",
        "What leaving layers out costs in perplexity and saves in time.",
        "studies.chunking.pruning",
        inputs={
            "perplexity": "results/scores/chunking.parquet",
            "latency": "results/scores/latency.parquet",
        },
        request=measured_models,
    ),
    figure(
        "chunking_pruning",
        "Perplexity with layers left out.",
        "studies.chunking.pruning",
        caption=(
            "Perplexity on wikitext with layers left out, nothing trained; the vertical line is"
            " the unchanged model."
        ),
    ),
    wanted=lambda settings: settings.chunking.models and settings.chunking.timed_models,
)
UNTRAINED = _PLANS + _LATENCY + _PRECISIONS + _PERPLEXITY + _PRUNING
