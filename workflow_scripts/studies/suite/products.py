"""What the leaderboard of submitted models has made; which records it has is known once its requests are checked."""

from typing import Any

from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.product import (
    MeasuredStudy,
    import_folders,
    products,
    records_of,
    table,
)
from workflow_scripts.studies.suite.table_requests import suite_tables


def _wanted(settings: Settings) -> Any:
    return settings.requests or settings.refused_requests or settings.imports


MEASURED = (MeasuredStudy("suite", lambda settings: [], _wanted, "suite"),)
PRODUCTS = products(
    "suite",
    table(
        "suite_leaderboard",
        "Submitted models on the suite of tasks, with their average.",
        "studies.suite.leaderboard",
        inputs={
            "scores": "results/scores/suite.parquet",
            "errors": "results/scores/suite_errors.parquet",
            "checks": "results/requests/checks.json",
            "imports": import_folders,
        },
        request=suite_tables,
        version=4,
    ),
    table(
        "suite_checks",
        "Rows of the leaderboard that are worth a look by a person.",
        "studies.suite.checks",
        inputs={
            "leaderboard": "results/tables/suite_leaderboard.csv",
            "checks": "results/requests/checks.json",
            "records": records_of("suite"),
            "imports": import_folders,
        },
        request=suite_tables,
        version=3,
    ),
    table(
        "suite_requests",
        "How each request stands.",
        "studies.suite.requests",
        inputs={
            "checks": "results/requests/checks.json",
            "records": records_of("suite"),
        },
    ),
    wanted=_wanted,
)
