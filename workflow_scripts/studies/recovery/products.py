"""What the recovery study has made, from measures that other studies take of other models."""

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import harmony_records
from workflow_scripts.studies.chunking.products import searched_records
from workflow_scripts.studies.chunking.requests import searched_models
from workflow_scripts.studies.mmlu.products import answers_of
from workflow_scripts.studies.product import figure, products, table
from workflow_scripts.studies.recovery.requests import recovered_checkpoints, recovered_ids
from workflow_scripts.studies.training.products import perplexities_of, trainings_of


def _wanted(settings: Settings) -> bool:
    return bool(settings.recovered_checkpoints() and settings.chunking.timed_models)


def _records(settings: Settings) -> list[str]:
    """Of each model: the perplexity of the texts, the tasks of the grid as they are, and MMLU."""
    checkpoints = recovered_ids(settings)
    return [
        *perplexities_of(checkpoints),
        *harmony_records(settings, [one.in_path for one in checkpoints], "direct"),
        *answers_of(checkpoints),
    ]


def _trainings(settings: Settings) -> list[str]:
    return trainings_of(recovered_ids(settings))


PRODUCTS = products(
    "recovery",
    table(
        "recovery",
        "What chunks and dropped layers cost at equal speed, and what training on few tokens brings back.",
        "studies.recovery.kept",
        inputs={
            "records": _records,
            "trained": _trainings,
            "times": "results/scores/latency.parquet",
        },
        request=recovered_checkpoints,
    ),
    figure(
        "recovery",
        "Quality that is kept against speed, a curve for each number of tokens.",
        "studies.recovery.kept_figure",
        caption=(
            "What a model keeps of its quality against how many times faster it writes, in chunks"
            " (solid) and with layers left out (dashed), a colour for each number of tokens that it was"
            " trained on towards the unchanged model, a marker for each aggregation and adapters of chunks where"
            " they differ; diamonds are the unchanged model after the same"
            " training. The band is two standard errors of the unchanged model itself; the dotted line is"
            " what a fixed or random answer would keep. Bars are two standard errors of the paired ratio."
        ),
    ),
    wanted=_wanted,
    chapter="",
) + products(
    "recovery",
    table(
        "recovery_expected",
        "What plans that a search proposes are expected to keep after training, beside evenly spaced ones.",
        "studies.recovery.expected",
        inputs={"records": searched_records, "kept": "results/tables/recovery.csv"},
        request=searched_models,
    ),
    wanted=_wanted,
    target="chunk_search",
    chapter="",
)
