"""List the records that each study measures; every Snakemake process imports this, so it does not import pandas."""

from collections.abc import Iterable
from typing import Any, get_args

from workflow_scripts.core.ids import CheckpointId, format_path_names
from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.job_batches import list_cell_records
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.settings.settings import Settings

# The studies that results/scores.parquet leaves out, as times differ between runs.
UNMERGED = ("latency",)


def list_records(settings: Settings) -> dict[str, list[str]]:
    """List the records of each study in the config; the suite's are only known after its requests are checked."""
    studies = {
        "chunking": _list_perplexities(settings),
        "latency": [
            f"results/records/latency/latency/{model}/mmlu.json"
            for model in format_path_names(settings.chunking.timed_models)
        ],
        "training": [
            f"results/records/training/perplexity/{checkpoint.path_name}/{text}.json"
            for checkpoint in settings.list_compared_checkpoints()
            for text in MEASURED_TEXTS
        ],
        "corpora": [
            f"results/records/corpora/{protocol}/{model}/{corpus}.json"
            for protocol in ("direct", "train_before_test")
            for model in format_path_names(settings.harmony.models)
            for corpus in settings.harmony.corpora
        ],
        "harmony": [
            path
            for protocol in get_args(Protocol)
            if protocol in settings.harmony.protocols
            for model in format_path_names(settings.harmony.models)
            for path in list_cell_records(settings, "harmony", protocol, model)
        ],
        "mmlu": [
            f"results/records/mmlu/few_shot/{checkpoint.path_name}/mmlu_helm.json"
            for checkpoint in settings.list_mmlu_checkpoints()
        ],
        "prompts": [
            f"results/records/prompts/prompt_run/{checkpoint.path_name}/{run}.json"
            for checkpoint in settings.list_prompt_checkpoints()
            for run in settings.prompt_runs
        ],
        "suite": [],
    }
    # Other studies are enabled if they have records.
    is_enabled = {
        "training": list_trainings(settings.list_compared_checkpoints()),
        "harmony": has_ranked_models(settings),
        "suite": settings.requests or settings.refused_requests,
    }
    return {study: records for study, records in studies.items() if is_enabled.get(study, records)}


def _list_perplexities(settings: Settings) -> list[str]:
    """List the records of untrained chunk plans; `written` is the text that the models generate themselves."""
    written = ["written"] if settings.chunking.measures.written_tokens else []
    return [
        f"results/records/chunking/perplexity/{model}/{text}.json"
        for text in [*MEASURED_TEXTS, *written]
        for model in format_path_names(settings.chunking.models)
    ]


def list_trainings(checkpoints: Iterable[CheckpointId]) -> list[str]:
    """List the training records of the trained checkpoints."""
    return [f"results/training/{item.path_name}.json" for item in checkpoints if item.stages]


def has_ranked_models(settings: Settings) -> Any:
    """Return a true value if there are scores to rank, from our models or imported."""
    return settings.harmony.models or settings.harmony.imported_scores or settings.imports


def has_texts(settings: Settings) -> Any:
    """Return a true value if models are measured on the user's own texts."""
    return settings.harmony.models and settings.harmony.corpora
