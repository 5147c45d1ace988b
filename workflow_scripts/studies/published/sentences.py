"""The published scores in numbers and sentences: what others found, told from their numbers."""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number, percent
from workflow_scripts.render.verdict import LIMIT
from workflow_scripts.stats.agreement import kendall_matrix
from workflow_scripts.stats.partial_order import opposite_pairs
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.components import ALL

BOTH, QWEN = (frame.DIRECT, frame.TRAINED), "Qwen"
RELEASE, LEADERBOARD = "harmony_cells", "harmony_leaderboard"
PANELS = (*BOTH, "base", "instruct")
_GROUPS = {ALL: "", QWEN: "_qwen"}


def published_grid_numbers(tables: Tables) -> list[Number]:
    parts = {
        "published_agreement": _agreement,
        "published_categories": _categories,
        "published_components": _components,
        "published_compute": _compute,
        "published_perplexity": _perplexity,
        "published_ranks": _ranks,
        "published_releases": _releases,
    }
    return [one for name, part in parts.items() if name in tables for one in part(tables[name])]


def _agreement(table: pd.DataFrame) -> Iterator[Number]:
    about = "models whose scores were published"
    yield from number("published.models", table["models"].max(), count, about)
    tasks = table.loc[table["statistic"] == frame.TASK, "first"].nunique()
    yield from number("published.tasks", tasks, count, "tasks that they were measured on")
    for row in table[table["statistic"] == frame.MEAN].itertuples():
        key = frame.KEYS[row.protocol]
        about = f"mean agreement of two tasks ({row.measure}) in the published scores, {key}"
        yield from number(f"published.{key}.{row.measure}", row.value, fixed(3), about)
    for row in table[table["statistic"] == frame.SHARE].itertuples():
        about = f"pairs of tasks whose agreement ({row.measure}) is higher after training"
        rising = round(row.value * row.pairs)
        yield from number(f"published.rising_{row.measure}", rising, count, about)
        about = "the same as a share"
        yield from number(f"published.rising_{row.measure}_share", row.value, percent, about)
        yield from number(f"published.pairs_{row.measure}", row.pairs, count, "of how many")


def _categories(table: pd.DataFrame) -> Iterator[Number]:
    known = table[(table["measure"] == "kendall") & (table["protocol"] == frame.DIRECT)]
    for row in known.nsmallest(1, "value").itertuples():
        names = row.first if row.first == row.second else f"{row.first} and {row.second}"
        yield from number(
            "published.least_categories", names, str, "the categories that agree least directly"
        )
        yield from number("published.direct.least", row.value, fixed(3), "their agreement, direct")
        same = (table["first"] == row.first) & (table["second"] == row.second)
        same &= (table["measure"] == "kendall") & (table["protocol"] == frame.TRAINED)
        for value in table.loc[same, "value"]:
            about = "their agreement, trained"
            yield from number("published.trained.least", value, fixed(3), about)


def _components(table: pd.DataFrame) -> Iterator[Number]:
    first = table[table["component"] == frame.FIRST_COMPONENT]
    for row in first[first["release"] == RELEASE].itertuples():
        key, group = frame.KEYS[row.protocol], _GROUPS[row.group]
        about = f"share of the variance that the first component has, {key}, models: {row.group}"
        yield from number(f"published.{key}.component{group}", row.share, percent, about)
        if row.group == QWEN and row.protocol == frame.DIRECT:
            yield from number("published.qwen_models", row.models, count, "Qwen models of them")
    whole = first[(first["release"] == LEADERBOARD) & (first["group"] == ALL)]
    for share in whole["share"]:
        about = "share that the first component has in the leaderboard of the authors' README"
        yield from number("published.leaderboard_component", share, percent, about)


def _compute(table: pd.DataFrame) -> Iterator[Number]:
    for protocol in BOTH:
        key, rows = frame.KEYS[protocol], table[table["protocol"] == protocol]
        for across in ("parameters", "compute"):
            known = rows[["pc1", across]].astype(float).dropna()
            about = f"tau-b of the first component and {across}, {key}"
            tau = kendall_matrix(known).at["pc1", across]
            yield from number(f"published.{key}.{across}", tau, fixed(2), about)
    known = table.loc[table["compute"].notna(), "model"].nunique()
    about = "models whose compute of pre-training is known"
    yield from number("published.compute_models", known, count, about)


def _perplexity(table: pd.DataFrame) -> Iterator[Number]:
    for panel in PANELS:
        rows = table[(table["panel"] == panel) & table["task"].notna()]
        about = f"mean tau-b of bits per byte and scores, {panel}"
        yield from number(f"published.bits_{panel}", rows["kendall"].mean(), fixed(2), about)
        models = rows["models"].max()
        yield from number(f"published.bits_{panel}_models", models, count, "of how many models")


def _ranks(table: pd.DataFrame) -> Iterator[Number]:
    for protocol in BOTH:
        key, rows = frame.KEYS[protocol], table[table["protocol"] == protocol]
        values, errors = (
            rows.pivot(index="label", columns="task", values=of) for of in ("value", "stderr")
        )
        if values.shape[1] != 2:
            continue
        about = (
            f"pairs of models that NQ-Open and ARC-Challenge surely order in opposite ways, {key}"
        )
        opposite = opposite_pairs(values, errors)
        yield from number(f"published.{key}.opposite", opposite, count, about)
        pairs = len(values) * (len(values) - 1) // 2
        yield from number(
            f"published.{key}.model_pairs", pairs, count, "of how many pairs of models"
        )


def _releases(table: pd.DataFrame) -> Iterator[Number]:
    of_task, every = table[table["task"].notna()], table[table["task"].isna()]
    for row in every.itertuples():
        about = "cells of the two releases of the scores after training"
        yield from number("published.release_cells", row.cells, count, about)
        yield from number("published.release_differing", row.differing, count, "that differ")
        points = 100 * row.furthest
        yield from number("published.release_furthest", points, fixed(1), "at most, in points")
        about = f"of those that can be tested, apart by a two-run test at z of {LIMIT:.0f}"
        yield from number("published.release_apart", row.apart, count, about)
        yield from number("published.release_tested", row.tested, count, "that can be tested")
        share = row.apart / row.tested if row.tested else None
        yield from number("published.release_share", share, percent, "the same as a share")
        about = "scores of the leaderboard below the direct ones"
        yield from number("published.below_direct", row.below_direct, count, about)
    for task in of_task.nlargest(1, "furthest")["task"]:
        yield from number("published.release_task", task, str, "the task of the furthest")


def tell_published_grid(numbers: Numbers) -> list[str]:
    return [
        paragraph
        for needs, paragraph in _PARAGRAPHS
        if all(f"published.{name}" in numbers for name in needs.split())
    ]


# What each tells, and the numbers without which it is left out.
_PARAGRAPHS = (
    (
        "models tasks direct.kendall trained.kendall rising_kendall direct.pearson trained.pearson",
        "Others measured {published.models} models on {published.tasks} tasks, as they are and after"
        " training each model on each task, and released every score. The mean agreement of two tasks"
        " about the models, Kendall’s tau-b of their rankings, is {published.direct.kendall} as the"
        " models are and {published.trained.kendall} after training; {published.rising_kendall} of"
        " {published.pairs_kendall} pairs of tasks agree more after training. Pearson’s correlation of"
        " the scores is {published.direct.pearson} and {published.trained.pearson}.",
    ),
    (
        "least_categories trained.least",
        "The rankings by tasks of {published.least_categories} are least alike: their mean tau-b is"
        " {published.direct.least} as the models are and {published.trained.least} after training.",
    ),
    (
        "direct.opposite trained.opposite",
        "NQ-Open and ARC-Challenge are both question answering. Of {published.direct.model_pairs} pairs of models"
        " they order {published.direct.opposite} in opposite ways, significantly on both, as the models"
        " are, and {published.trained.opposite} after training.",
    ),
    (
        "direct.component trained.component direct.component_qwen trained.component_qwen",
        "The first principal component has {published.direct.component} of the variance of the direct"
        " scores and {published.trained.component} of those after training; of the"
        " {published.qwen_models} Qwen models alone it has {published.direct.component_qwen} and"
        " {published.trained.component_qwen}.",
    ),
    (
        "direct.parameters trained.parameters direct.compute trained.compute",
        "With the number of parameters that component agrees to a tau-b of"
        " {published.direct.parameters} as the models are and {published.trained.parameters} after"
        " training; with the compute of pre-training, known for {published.compute_models} models, to"
        " {published.direct.compute} and {published.trained.compute}.",
    ),
    (
        "bits_direct bits_train_before_test bits_base bits_instruct",
        "Bits per byte of texts of 2025, fewest first, rank {published.bits_direct_models} models as the"
        " tasks do to a mean tau-b of {published.bits_direct} as the models are and"
        " {published.bits_train_before_test} after training on text and task. Scores after training agree"
        " with bits per byte before any training to {published.bits_base} among"
        " {published.bits_base_models} base models and to {published.bits_instruct} among"
        " {published.bits_instruct_models} instruct models.",
    ),
    (
        "release_differing release_furthest release_apart release_share",
        "The scores after training were released twice. The two releases differ in"
        " {published.release_differing} of {published.release_cells} cells, by"
        " {published.release_furthest} points at most, and a two-run test that knows only the sampling of"
        " items tells {published.release_apart} of {published.release_tested} apart,"
        " {published.release_share}: training again moves scores too.",
    ),
)

PUBLISHED_GRID = Study(
    key="published",
    title="What was found before: do tasks agree about published models?",
    numbers=published_grid_numbers,
    tell=tell_published_grid,
)
