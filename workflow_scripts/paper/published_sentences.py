"""The published numbers beside ours, in numbers and sentences."""

from workflow_scripts.paper.reproduction_by_task import ADDED
from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number, percent
from workflow_scripts.render.verdict import (
    AGREES,
    BY_LUCK,
    DIFFERS,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
)
from workflow_scripts.render.words import joined
from workflow_scripts.studies.harmony.published import SOURCE as LEADERBOARD


def published_numbers(tables: Tables) -> list[Number]:
    table = tables.get("reproduction")
    if table is None:
        return []
    verdicts = table["verdict"].value_counts()
    kinds = (AGREES, DIFFERS, NOT_COMPARABLE, OTHER_PROTOCOL)
    agree, differ, refused, other = (int(verdicts.get(kind, 0)) for kind in kinds)
    sources = table["source"].str.split("_").str[0].nunique()
    models = table.loc[table["source"] == LEADERBOARD, "of"].nunique()
    tested = table["z"].notna().sum()
    found = [
        *number("published.sources", sources, count, "publications they are from"),
        *number("published.numbers", len(table), count, "published numbers"),
        *number("published.panel_models", models, count, "models of the published leaderboard"),
        *number("published.comparable", agree + differ, count, "that can be compared with ours"),
        *number("published.agree", agree, count, "of these, numbers that agree"),
        *number("published.differ", differ, count, "of these, numbers that differ"),
        *number(
            "published.luck", BY_LUCK, percent, "of these, at most so many differ by luck alone"
        ),
        *number("published.by_luck", tested * BY_LUCK, fixed(1), "that is so many of those tested"),
        *number("published.other", other, count, "that were measured by another protocol"),
        *number("published.refused", refused, count, "that cannot be compared"),
    ]
    reasons = table.loc[table["verdict"] == NOT_COMPARABLE, "because"].value_counts()
    for at, (reason, times) in enumerate(sorted(reasons.items(), key=lambda r: (-r[1], r[0])), 1):
        found += number(f"published.reason_{at}", reason, str, "why some cannot be compared")
        found += number(f"published.reason_{at}_times", times, count, "of how many that holds")
    return found + _rerun_numbers(tables)


def _rerun_numbers(tables: Tables) -> list[Number]:
    table = tables.get("reproduction_by_task")
    if table is None or table.empty:
        return []
    each = table.drop_duplicates("task")
    twice = each["trained_twice"]
    shows = (each["shows"] * twice).sum() / twice.sum()
    compared = table[table["z"].notna()]
    return [
        *number("published.trained_twice", twice.sum(), count, "scores that were trained twice"),
        *number("published.released_differ", each["released_differ"].sum(), count, "that differ"),
        *number("published.added", 100 * ADDED, count, "points, that a task is moved by"),
        *number("published.shows", shows, percent, "single scores of it that would then differ"),
        *number("published.rerun_tasks", len(each), count, "tasks"),
        *number(
            "published.rerun_tasks_show",
            (each["task_limit"] < ADDED).sum(),
            count,
            "that it shows on",
        ),
        *number(
            "published.rerun_tasks_compared", len(compared), count, "tasks compared over all models"
        ),
        *number(
            "published.rerun_tasks_differ",
            (compared["verdict"] == DIFFERS).sum(),
            count,
            "on which they differ",
        ),
    ]


def tell_published(numbers: Numbers) -> list[str]:
    if "published.numbers" not in numbers:
        return []
    text = "{published.sources} publications print {published.numbers} numbers of the kind measured here."
    if numbers.value("published.comparable"):
        text += (
            " {published.comparable} of them can be compared with ours: {published.agree} agree and"
            " {published.differ} differ, where luck alone would make at most {published.by_luck} differ."
        )
    else:
        text += " None of them can be compared with ours."
    if numbers.value("published.other"):
        text += (
            " {published.other} were measured by another protocol than the published one; the table of"
            " differences names what is other."
        )
    reasons: list[str] = []
    while (start := f"published.reason_{len(reasons) + 1}") in numbers:
        reasons.append(f"{{{start}}} ({{{start}_times}})")
    if reasons:
        text += f" Not comparable, because {joined(reasons)}."
    return [text, *_tell_reruns(numbers)]


def _tell_reruns(numbers: Numbers) -> list[str]:
    if "published.trained_twice" not in numbers:
        return []
    text = (
        "How far a score after training may lie from the published one is known from the authors' own two"
        " releases. Of the {published.trained_twice} scores that are not the same in both,"
        " {published.released_differ} differ from each other by the measure used here, and of a rerun of the"
        " same protocol at most {published.luck} do. {published.added} points more on a task would make"
        " {published.shows} of its single scores differ; the median of all models would show them on"
        " {published.rerun_tasks_show} of the {published.rerun_tasks} tasks."
    )
    if numbers.value("published.rerun_tasks_compared"):
        text += " Of the {published.rerun_tasks_compared} tasks compared in that way, {published.rerun_tasks_differ} differ."
    return [text]


PUBLISHED = Study(
    key="reproduction",
    title="Are the published numbers reproduced?",
    numbers=published_numbers,
    tell=tell_published,
)
