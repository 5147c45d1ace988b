"""The suite in numbers and sentences: which submitted model leads, and by how sure a margin."""

import math

import pandas as pd

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number
from workflow_scripts.render.words import CLEAR
from workflow_scripts.studies.suite.checks import LOST_FLAG

_SHORT = 17  # the longest protocol; of a commit enough to tell it from another


def suite_numbers(tables: Tables) -> list[Number]:
    table = tables.get("suite_leaderboard")
    if table is None:
        return []
    ranked = table.dropna(subset=["average"]).sort_values("average", ascending=False, kind="stable")
    flagged = int(table["flag"].notna().sum())
    found = [
        *number("suite.rows", len(table), count, "models, each in a precision, on the suite"),
        *number("suite.ranked", len(ranked), count, "of these, rows with every task"),
        *number("suite.flagged", flagged, count, "of these, rows that were flagged by hand"),
    ]
    if (checks := tables.get("suite_checks")) is not None:
        lost = int((checks["check"] == LOST_FLAG).sum())
        found += number("suite.lost_flags", lost, count, "flags that mark no row")
    for at, key in enumerate(("first", "second")):
        if at < len(ranked):
            found += _place(ranked, at, key)
    if len(ranked) > 1:
        first, second = ranked.iloc[0], ranked.iloc[1]
        error = math.hypot(first["average_stderr"], second["average_stderr"])
        z = (first["average"] - second["average"]) / error if error else math.inf
        found += number("suite.lead", z, fixed(1), "its lead over the next, in standard errors")
    return found


def _place(ranked: pd.DataFrame, at: int, key: str) -> list[Number]:
    row = ranked.iloc[at]
    name = str(row["model"])
    # A model may have several rows: then its name alone would say nothing.
    same = ranked[ranked["model"] == name]
    told_apart_by = ("precision", "protocol", "commit")
    marks = [str(row[one])[:_SHORT] for one in told_apart_by if same[one].nunique() > 1]
    if marks:
        name = f"{name} ({', '.join(marks)})"
    return [
        *number(f"suite.{key}", name, str, f"the {key} by the average of the suite"),
        *number(f"suite.{key}_average", 100 * row["average"], fixed(1), "its average, in percent"),
    ]


def tell_suite(numbers: Numbers) -> list[str]:
    if "suite.rows" not in numbers:
        return []
    text = "Rows on the suite: {suite.rows}, with every task: {suite.ranked}."
    if "suite.first" in numbers:
        text += " {suite.first} has the highest average, {suite.first_average}%"
        text += "." if "suite.second" not in numbers else _behind(numbers)
    if numbers.value("suite.flagged"):
        text += " Flagged by hand, for reasons that stand beside them, are {suite.flagged}."
    if "suite.lost_flags" in numbers and numbers.value("suite.lost_flags"):
        text += " Flags that mark no row, named in the table below: {suite.lost_flags}."
    return [text]


def _behind(numbers: Numbers) -> str:
    sure = "suite.lead" in numbers and numbers.value("suite.lead") >= CLEAR
    margin = "behind it clearly" if sure else "within the errors of the two"
    return f"; {{suite.second}} with {{suite.second_average}}% is {margin}."


SUITE = Study(
    key="suite",
    title="How do models fare on the suite?",
    numbers=suite_numbers,
    tell=tell_suite,
)
