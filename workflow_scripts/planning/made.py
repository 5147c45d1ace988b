"""Which records, tables and figures a config has made, by study."""

import json
from collections.abc import Mapping
from pathlib import Path

from workflow_scripts.core.ids import in_paths
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import harmony_records
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS

# Studies that measure times: never twice the same, so results/scores.parquet, which is, leaves them out.
TIMED = {"latency"}
_CHECKS = Path("results/requests/checks.json")


def records_made(settings: Settings) -> dict[str, list[str]]:
    """The paths of each study's records; of the suite none, as its rows are known once they are checked."""
    folder = "results/records"
    chunked, grid = in_paths(settings.chunking.models), in_paths(settings.harmony.models)
    timed = in_paths(settings.chunking.timed_models)
    records = {
        "chunking": [
            f"{folder}/chunking/perplexity/{model}/{text}.json"
            for text in MEASURED_TEXTS
            for model in chunked
        ],
        "latency": [f"{folder}/latency/latency/{model}/mmlu.json" for model in timed],
        "training": [
            f"{folder}/training/perplexity/{checkpoint.in_path}/{text}.json"
            for checkpoint in settings.staged_checkpoints()
            for text in MEASURED_TEXTS
        ],
        "corpora": [
            f"{folder}/corpora/{protocol}/{model}/{corpus}.json"
            for protocol in ("direct", "train_before_test")
            for model in grid
            for corpus in settings.harmony.corpora
        ],
        "harmony": harmony_records(settings, grid),
        "mmlu": [
            f"{folder}/mmlu/few_shot/{evaluated.in_path}/mmlu_helm.json"
            for evaluated in settings.mmlu_checkpoints()
        ],
        "prompts": [
            f"{folder}/prompts/prompt_run/{asked.in_path}/{run}.json"
            for asked in settings.prompt_checkpoints()
            for run in settings.prompt_runs
        ],
        "suite": [],
    }
    return _of_this_config(records, settings)


def tables_made(settings: Settings) -> dict[str, list[str]]:
    """The names of each study's tables."""
    tables = {
        "published": [
            "published_agreement",
            "published_categories",
            "published_components",
            "published_compute",
            "published_perplexity",
            "published_ranks",
            "published_releases",
        ],
        "plans": ["chunking_plans"],
        "chunking": ["chunking_perplexity"],
        "latency": ["chunking_latency"],
        "precisions": ["chunking_precisions"],
        "pruning": ["chunking_pruning"],
        "training": ["training_stages"],
        "ablation": ["chunking_ablation"],
        "corpora": ["harmony_perplexity", "harmony_text_agreement"],
        "harmony": [
            "harmony_scores",
            "harmony_leaderboard",
            "harmony_agreement",
            "harmony_components",
            "harmony_significance",
            "harmony_panel",
            "harmony_task_pair",
        ],
        "mmlu": ["mmlu_by_subject"],
        "prompts": ["prompt_runs", "prompt_runs_by_subject"],
        "suite": ["suite_leaderboard", "suite_checks", "suite_requests"],
    }
    return _of_this_config(tables, settings)


def figures_made(settings: Settings) -> dict[str, list[str]]:
    """The names of each study's figures."""
    figures = {
        "published": [
            "published_agreement",
            "published_agreement_pearson",
            "published_categories",
            "published_components",
            "published_compute",
            "published_perplexity",
            "published_ranks",
        ],
        "chunking": ["chunking_perplexity"],
        "latency": ["chunking_latency"],
        "pruning": ["chunking_pruning"],
        "training": ["training_curves"],
        "ablation": ["chunking_ablation"],
        "corpora": ["harmony_perplexity", "harmony_text_agreement"],
        "harmony": [
            "harmony_scores",
            "harmony_matrices",
            "harmony_agreement_by_task",
            "harmony_categories",
            "harmony_components",
            "harmony_pc1_by_size",
            "harmony_pc1_by_compute",
            "harmony_bump",
            "harmony_task_pair",
            "harmony_panel",
        ],
        "mmlu": ["mmlu_by_subject"],
        "prompts": ["prompt_runs"],
    }
    return _of_this_config(figures, settings)


def _of_this_config(made: Mapping[str, list[str]], settings: Settings) -> dict[str, list[str]]:
    """What is made by the studies that the config asks anything of."""
    asked = {
        "published": True,  # of any config: it needs nothing
        "plans": settings.chunking.checkpoints,
        "chunking": settings.chunking.models,
        "latency": settings.chunking.timed_models,
        "precisions": settings.chunking.timed_models and settings.chunking.measures.precisions,
        # Perplexity beside time.
        "pruning": settings.chunking.models and settings.chunking.timed_models,
        "training": any(one.stages for one in settings.staged_checkpoints()),
        "ablation": settings.ablates,
        "corpora": settings.harmony.models and settings.harmony.corpora,
        "harmony": settings.harmony.models or settings.harmony.imported_scores,
        "mmlu": settings.mmlu_checkpoints(),
        "prompts": settings.prompts.models,
        "suite": settings.requests or settings.refused_requests,
    }
    return {study: those for study, those in made.items() if asked[study]}


def scores_that_lost_a_record(records: Mapping[str, list[str]]) -> list[str]:
    """The scores of each study of which a record is not there; the suite's are those of its last check."""
    known = {study: _last_accepted() if study == "suite" else records[study] for study in records}
    return [
        f"results/scores/{study}.parquet"
        for study, paths in known.items()
        if not all(Path(path).exists() for path in paths)
    ]


def _last_accepted() -> list[str]:
    try:
        checked = json.loads(_CHECKS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    accepted = [request for request in checked if not request["reason"]]
    return [path for request in accepted for path in request["records"].values()]
