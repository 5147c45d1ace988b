"""Which records, tables and figures a config has made, by study; the records in the order of the report."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import harmony_records

# Studies that measure times: never twice the same, so results/scores.parquet, which is, leaves them out.
TIMED = {"latency"}
_CHECKS = Path("results/requests/checks.json")
_RANKING_TABLES = ("scores", "leaderboard", "agreement", "components", "significance", "panel")
_RANKING_FIGURES = (
    *("scores", "matrices", "agreement_by_task", "categories"),
    *("components", "pc1_by_size", "bump", "panel"),
)
_MEASURES = ("perplexity", "latency", "pruning")


def records_made(settings: Settings) -> dict[str, list[str]]:
    """The paths of each study's records; of the suite none, as its rows are known once they are checked."""
    by_study: dict[str, Callable[[Settings], list[str]]] = {
        "chunking": _chunking,
        "latency": _latency,
        "training": _training,
        "corpora": _corpora,
        "harmony": lambda settings: harmony_records(settings, _in_path(settings.harmony.models)),
        "mmlu": _mmlu,
        "prompts": _prompts,
        "suite": lambda settings: [],
    }
    return {study: by_study[study](settings) for study in by_study if _has(study, settings)}


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


def tables_made(settings: Settings) -> list[str]:
    """The names of the studies' tables, sorted."""
    names = {
        "chunking": [f"chunking_{measure}" for measure in _MEASURES],
        "training": ["training_stages"],
        "harmony": [f"harmony_{name}" for name in _RANKING_TABLES],
        "mmlu": ["mmlu_by_subject"],
        "prompts": ["prompt_runs", "prompt_runs_by_subject"],
        "suite": ["suite_checks", "suite_leaderboard", "suite_requests"],
    }
    plans = ["chunking_plans"] if settings.chunking.checkpoints else []
    return sorted(plans + _perplexity_of_corpora(settings) + _of_studies(names, settings))


def figures_made(settings: Settings) -> list[str]:
    """The names of the studies' figures, sorted."""
    names = {
        "chunking": [f"chunking_{measure}" for measure in _MEASURES],
        "training": ["training_curves"],
        "harmony": [f"harmony_{name}" for name in _RANKING_FIGURES],
        "mmlu": ["mmlu_by_subject"],
        "prompts": ["prompt_runs"],
    }
    return sorted(_perplexity_of_corpora(settings) + _of_studies(names, settings))


def _of_studies(names: dict[str, list[str]], settings: Settings) -> list[str]:
    return [name for study, those in names.items() if _has(study, settings) for name in those]


def _perplexity_of_corpora(settings: Settings) -> list[str]:
    has_both = _has("harmony", settings) and _has("corpora", settings)
    return ["harmony_perplexity"] if has_both else []


def _has(study: str, settings: Settings) -> bool:
    """Whether the config asks for anything of this study."""
    return bool(
        {
            "chunking": settings.chunking.models,
            "latency": settings.chunking.models,
            "training": [one for one in settings.staged_checkpoints() if one.stages],
            "corpora": settings.harmony.corpora,
            "harmony": settings.harmony.models,
            "mmlu": settings.mmlu_checkpoints(),
            "prompts": settings.prompts.models,
            "suite": settings.requests or settings.refused_requests,
        }[study]
    )


def _in_path(names: Iterable[str]) -> list[str]:
    return [CheckpointId.parse(name).in_path for name in names]


def _chunking(settings: Settings) -> list[str]:
    return [
        f"results/records/chunking/perplexity/{model}/{text}.json"
        for text in ("wikitext", "magpie")
        for model in _in_path(settings.chunking.models)
    ]


def _latency(settings: Settings) -> list[str]:
    return [
        f"results/records/latency/latency/{model}/mmlu.json"
        for model in _in_path(settings.chunking.models)
    ]


def _training(settings: Settings) -> list[str]:
    return [
        f"results/records/training/perplexity/{checkpoint.in_path}/{text}.json"
        for checkpoint in settings.staged_checkpoints()
        for text in ("wikitext", "magpie")
    ]


def _corpora(settings: Settings) -> list[str]:
    return [
        f"results/records/corpora/{protocol}/{model}/{corpus}.json"
        for protocol in ("direct", "train_before_test")
        for model in _in_path(settings.harmony.models)
        for corpus in settings.harmony.corpora
    ]


def _mmlu(settings: Settings) -> list[str]:
    return [
        f"results/records/mmlu/few_shot/{evaluated.in_path}/mmlu_helm.json"
        for evaluated in settings.mmlu_checkpoints()
    ]


def _prompts(settings: Settings) -> list[str]:
    return [
        f"results/records/prompts/prompt_run/{asked.in_path}/{run}.json"
        for asked in settings.prompt_checkpoints()
        for run in settings.prompt_runs
    ]
