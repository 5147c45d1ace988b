"""The suite study in numbers and sentences, where the config has one."""

from workflow_scripts.reporting.report.numbers import Number, Numbers, count, number
from workflow_scripts.reporting.report.study import Study, Tables


def suite_numbers(tables: Tables) -> list[Number]:
    table = tables.get("suite_leaderboard")
    if table is None or "model" not in table:
        return []
    return number("suite.models", table["model"].nunique(), count, "models of the suite")


def tell_suite(numbers: Numbers) -> list[str]:
    if "suite.models" not in numbers:
        return []
    return [
        "{suite.models} models went through the suite; the leaderboard has each with its parts."
    ]


SUITE = Study(
    key="suite",
    title="How do models fare on the suite?",
    tables=("suite_leaderboard",),
    figures=(),
    numbers=suite_numbers,
    tell=tell_suite,
)
