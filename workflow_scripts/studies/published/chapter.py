"""Compute the numbers of the chapter on published scores: others' findings recomputed from their numbers."""

from functools import partial
from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement_by_size import summarize_sizes
from workflow_scripts.studies.ranking.components import ALL
from workflow_scripts.studies.ranking.price import summarize_price
from workflow_scripts.studies.ranking.variance import summarize_variance

BOTH, QWEN = (frame.DIRECT, frame.TRAINED), "Qwen"
RELEASE = "harmony_cells"
PANELS = (*BOTH, "base", "instruct")
_GROUPS = {ALL: "", QWEN: "_qwen"}


def _describe_agreement(table: pd.DataFrame) -> Values:
    values: Values = {
        "published.models": table["models"].max(),
        "published.tasks": table.loc[table["statistic"] == frame.TASK, "first"].nunique(),
    }
    for row in table.itertuples():
        names = {
            frame.MEAN: f"published.{frame.KEYS[row.protocol]}.{row.measure}",
            frame.DIFFERENCE: f"published.rise_{row.measure}",
        }
        if row.statistic in names:
            name = names[row.statistic]
            values |= {name: row.value, f"{name}_low": row.families_low}
            values[f"{name}_high"] = row.families_high
        elif row.statistic == frame.SHARE:
            values[f"published.rising_{row.measure}"] = round(row.value * row.pairs)
            values[f"published.pairs_{row.measure}"] = row.pairs
    return values


def _describe_components(table: pd.DataFrame) -> Values:
    first = table[table["component"] == frame.FIRST_COMPONENT]
    values: Values = {}
    for row in first[first["release"] == RELEASE].itertuples():
        values[f"published.{frame.KEYS[row.protocol]}.component{_GROUPS[row.group]}"] = row.share
        if row.group == QWEN and row.protocol == frame.DIRECT:
            values["published.qwen_models"] = row.models
    return values


def _describe_texts(table: pd.DataFrame) -> Values:
    values: Values = {}
    for panel in PANELS:
        rows = table[(table["panel"] == panel) & table["task"].notna()]
        values[f"published.bits_{panel}"] = rows["kendall"].mean()
        values[f"published.bits_{panel}_models"] = rows["models"].max()
    return values


def _describe_ranks(table: pd.DataFrame) -> Values:
    """Count the pairs of models that two tasks significantly order in opposite ways."""
    values: Values = {}
    for protocol in BOTH:
        key, rows = frame.KEYS[protocol], table[table["protocol"] == protocol]
        models = rows["label"].nunique()
        if models:
            # Each pair is counted for both of its models, and each model on both tasks.
            values[f"published.{key}.opposite"] = int(rows["opposed"].sum()) // 4
            values[f"published.{key}.model_pairs"] = models * (models - 1) // 2
    return values


def _describe_releases(table: pd.DataFrame) -> Values:
    total = table[table["task"].isna()].iloc[0]
    return {
        "published.release_cells": total["cells"],
        "published.release_differing": total["differing"],
        "published.release_furthest": 100 * total["furthest"],
        "published.release_apart": total["apart"],
        "published.release_tested": total["tested"],
        "published.release_share": total["apart"] / total["tested"],
    }


PUBLISHED = Study(
    key="published",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(
        ("published_agreement", _describe_agreement),
        ("published_agreement_by_size", partial(summarize_sizes, study="published")),
        ("published_components", _describe_components),
        ("published_variance", partial(summarize_variance, study="published")),
        ("published_text_agreement", _describe_texts),
        ("published_task_pair", _describe_ranks),
        ("published_releases", _describe_releases),
        ("published_price", partial(summarize_price, study="published")),
    ),
)
