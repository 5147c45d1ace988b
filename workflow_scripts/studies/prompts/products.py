"""What the prompt runs measure and have made."""

from typing import Any

from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.product import (
    MeasuredStudy,
    figure,
    products,
    published,
    records_of,
    table,
)
from workflow_scripts.studies.prompts.requests import prompt_tables


def _wanted(settings: Settings) -> Any:
    return settings.prompts.models


def _records(settings: Settings) -> list[str]:
    return [
        f"results/records/prompts/prompt_run/{one.in_path}/{run}.json"
        for one in settings.prompt_checkpoints()
        for run in settings.prompt_runs
    ]


MEASURED = (MeasuredStudy("prompts", _records, _wanted, "prompts"),)
PRODUCTS = products(
    "prompts",
    table(
        "prompt_runs",
        "Prompt runs: accuracy, format, and what each changed.",
        "studies.prompts.runs",
        inputs={
            "scores": "results/scores/prompts.parquet",
            "records": records_of("prompts"),
            "published": published("prompt_runs.csv"),
        },
        request=prompt_tables,
    ),
    table(
        "prompt_runs_by_subject",
        "Prompt runs by subject.",
        "studies.prompts.by_subject",
        inputs={"scores": "results/scores/prompts.parquet"},
        request=prompt_tables,
    ),
    figure(
        "prompt_runs",
        "Accuracy and format of the prompt runs.",
        "studies.prompts.runs",
        version=3,
        caption=(
            "The same MMLU questions asked in each prompt run. Left: accuracy with its 95%"
            " interval (Wilson's), the floor that a run must clear, and the published scores. A hollow"
            " point is of fewer questions and compares with no other. Right: the share of outputs"
            " in exactly the form that the prompt asks for, and the share of the right answers"
            " that a strict reading would have counted."
        ),
    ),
    wanted=_wanted,
)
