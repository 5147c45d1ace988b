"""Compute the numbers of the chapter on published scores: others' findings recomputed from their numbers."""

from functools import partial

import pandas as pd

from workflow_scripts.render.numbers import NumberFunctions, Values
from workflow_scripts.studies.ranking.agreement import summarize_agreement
from workflow_scripts.studies.ranking.agreement_by_size import summarize_sizes
from workflow_scripts.studies.ranking.components import summarize_components
from workflow_scripts.studies.ranking.grid_tables import name_numbers
from workflow_scripts.studies.ranking.variance import summarize_variance


def _describe_texts(table: pd.DataFrame) -> Values:
    """Average the agreement of texts and tasks in each panel."""
    pairs = table[table["task"].notna()].groupby("panel")
    panels = pairs.agg({"kendall": "mean", "models": "max"}).reset_index()
    return name_numbers(panels, "published.bits", ["panel"], ["kendall", "models"])


def _describe_task_pair(table: pd.DataFrame) -> Values:
    """Count the pairs of models that two tasks significantly order in opposite ways."""
    rows = table.groupby("protocol")
    models = rows["label"].nunique()
    # Each pair is counted for both of its models, and each model on both tasks.
    counts = {"opposite": rows["opposed"].sum() // 4, "model_pairs": models * (models - 1) // 2}
    columns = list(counts)
    return name_numbers(pd.DataFrame(counts).reset_index(), "published", ["protocol"], columns)


def _describe_releases(table: pd.DataFrame) -> Values:
    total = table[table["task"].isna()]  # the row over all tasks
    total = total.assign(share=total["apart"] / total["tested"])
    columns = ["cells", "differing", "furthest", "apart", "tested", "share"]
    return name_numbers(total, "published.release", [], columns)


def _describe_price(table: pd.DataFrame) -> Values:
    return name_numbers(table, "published", ["way", "budget"], ["tau"])


NUMBER_FUNCTIONS: NumberFunctions = {
    "published_agreement": partial(summarize_agreement, study="published"),
    "published_agreement_by_size": partial(summarize_sizes, study="published"),
    "published_components": partial(summarize_components, study="published"),
    "published_variance": partial(summarize_variance, study="published"),
    "published_text_agreement": _describe_texts,
    "published_task_pair": _describe_task_pair,
    "published_releases": _describe_releases,
    "published_price": _describe_price,
}
