"""The records that the Harmony study measures."""

from typing import Any

from workflow_scripts.core.ids import in_paths
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import harmony_records
from workflow_scripts.studies.product import MeasuredStudy


def ranks_models(settings: Settings) -> Any:
    return settings.harmony.models or settings.harmony.imported_scores or settings.imports


def has_texts(settings: Settings) -> Any:
    return settings.harmony.models and settings.harmony.corpora


def _list_corpus_records(settings: Settings) -> list[str]:
    return [
        f"results/records/corpora/{protocol}/{model}/{corpus}.json"
        for protocol in ("direct", "train_before_test")
        for model in in_paths(settings.harmony.models)
        for corpus in settings.harmony.corpora
    ]


def _list_records(settings: Settings) -> list[str]:
    return harmony_records(settings, in_paths(settings.harmony.models))


MEASURED = (
    MeasuredStudy("corpora", _list_corpus_records, has_texts, "harmony"),
    MeasuredStudy("harmony", _list_records, ranks_models, "harmony"),
)
