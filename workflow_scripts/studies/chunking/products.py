"""The records that the study of chunked models measures before any training."""

from typing import Any

from workflow_scripts.core.ids import in_paths
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.studies.product import MeasuredStudy


def _has_models(settings: Settings) -> Any:
    return settings.chunking.models


def _has_timed_models(settings: Settings) -> Any:
    return settings.chunking.timed_models


def _list_perplexity_records(settings: Settings) -> list[str]:
    written = ["written"] if settings.chunking.measures.written_tokens else []
    return [
        f"results/records/chunking/perplexity/{model}/{text}.json"
        for text in [*MEASURED_TEXTS, *written]
        for model in in_paths(settings.chunking.models)
    ]


def _list_latency_records(settings: Settings) -> list[str]:
    models = in_paths(settings.chunking.timed_models)
    return [f"results/records/latency/latency/{model}/mmlu.json" for model in models]


MEASURED = (
    MeasuredStudy("chunking", _list_perplexity_records, _has_models, "chunking"),
    MeasuredStudy("latency", _list_latency_records, _has_timed_models, "chunking", is_timed=True),
)
