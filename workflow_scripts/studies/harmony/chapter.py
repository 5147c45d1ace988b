"""Compute the numbers of the Harmony chapter: the agreement of tasks before and after training."""

from functools import partial
from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.words import CLEAR, LEVEL
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement_by_size import add_keys, summarize_sizes
from workflow_scripts.studies.ranking.variance import summarize_variance

_AGREEMENT = {
    frame.MEAN: "agreement",
    frame.CEILING: "ceiling",
    frame.DIFFERENCE: "difference",
}
_ENDS = {
    "": "value",
    "_low": "families_low",
    "_high": "families_high",
    "_items_low": "items_low",
    "_items_high": "items_high",
}


def _describe_scores(table: pd.DataFrame) -> Values:
    own = table[(table["origin"] == frame.OWN) & table["value"].notna()]
    return {
        "harmony.models": own["model"].nunique(),
        "harmony.tasks": own["task"].nunique(),
        "harmony.cells": len(own),
        "harmony.cells_clear": (own["z"] >= CLEAR).sum(),
    }


def _describe_agreement(table: pd.DataFrame) -> Values:
    rows = add_keys(table[table["statistic"].isin(list(_AGREEMENT))])
    return {
        f"harmony.{row['key']}.{_AGREEMENT[row['statistic']]}{end}": row[column]
        for row in rows.to_dict("records")
        for end, column in _ENDS.items()
    }


def _describe_ranking(table: pd.DataFrame) -> Values:
    table = add_keys(table)
    missing = table.loc[table["origin"] == frame.OWN, "missing"].dropna().astype(str)
    values: Values = {"harmony.missing": int(missing.str.split().map(len).sum())}
    for key, rows in table.groupby("key"):
        first = rows[rows["rank"] == 1]
        if len(first) == 1:
            values[f"harmony.{key}.first"] = first["label"].item()
            values[f"harmony.{key}.first_last"] = first["rank_high"].item()
    return values


def _describe_components(table: pd.DataFrame) -> Values:
    first = add_keys(table[table["component"] == frame.FIRST_COMPONENT]).set_index("key")
    return {f"harmony.{key}.component_share": share for key, share in first["share"].items()}


def _describe_significance(table: pd.DataFrame) -> Values:
    values: Values = {}
    for key, pairs in add_keys(table[table["task"] == frame.OVERALL]).groupby("key"):
        values[f"harmony.{key}.pairs"] = len(pairs)
        values[f"harmony.{key}.pairs_differ"] = (pairs["p_holm"] < LEVEL).sum()
    return values


def _describe_panel(table: pd.DataFrame) -> Values:
    if table.empty:
        return {}
    own = table[(table["origin"] == frame.OWN) & table["pc1"].notna()]
    outside = own["outside"].fillna("") != ""
    models = own.drop_duplicates(["model", "variant"], keep="last").fillna({"variant": ""})
    places = "{model}{variant} {rank:.0f} ({best_rank:.0f} to {worst_rank:.0f})"
    return {
        "harmony.places": "; ".join(places.format(**row) for row in models[:5].to_dict("records")),
        "harmony.placed": own["model"].nunique(),
        "harmony.placed_outside": own.loc[outside, "model"].nunique(),
    }


HARMONY = Study(
    key="harmony",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(
        ("harmony_scores", _describe_scores),
        ("harmony_agreement", _describe_agreement),
        ("harmony_agreement_by_size", partial(summarize_sizes, study="harmony")),
        ("harmony_leaderboard", _describe_ranking),
        ("harmony_components", _describe_components),
        ("harmony_variance", partial(summarize_variance, study="harmony")),
        ("harmony_significance", _describe_significance),
        ("harmony_panel", _describe_panel),
    ),
)
