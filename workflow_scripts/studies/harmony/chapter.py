"""The numbers of the Harmony study: do tasks agree about models, before and after training?"""

from functools import partial
from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.words import CLEAR, LEVEL
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement_by_size import tell_by_size
from workflow_scripts.studies.ranking.variance import tell_variance

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


def _scores(table: pd.DataFrame) -> Values:
    own = table[(table["origin"] == frame.OWN) & table["value"].notna()]
    clear = (own["z"] >= CLEAR).sum()
    return {
        "harmony.models": own["model"].nunique(),
        "harmony.tasks": own["task"].nunique(),
        "harmony.cells": len(own),
        "harmony.cells_clear": clear,
        "harmony.clear_share": clear / len(own) if len(own) else None,
    }


def _agreement(table: pd.DataFrame) -> Values:
    values: Values = {}
    rows = table.assign(protocol=table["protocol"].map(frame.KEYS))
    rows["key"] = rows["statistic"].map(_AGREEMENT)
    for row in rows.dropna(subset=["protocol", "key"]).to_dict("records"):
        start = f"harmony.{row['protocol']}.{row['key']}"
        values |= {start + end: row[column] for end, column in _ENDS.items()}
    return values


def _ranking(table: pd.DataFrame) -> Values:
    values: Values = {}
    for protocol, name in frame.KEYS.items():
        ranked = table[(table["protocol"] == protocol) & table["rank"].notna()]
        first = ranked[ranked["rank"] == 1]
        values[f"harmony.{name}.ranked"] = len(ranked) or None
        if len(first) == 1:
            values[f"harmony.{name}.first"] = first["label"].iloc[0]
            values[f"harmony.{name}.first_last"] = first["rank_high"].iloc[0]
    own = table[(table["origin"] == frame.OWN) & table["protocol"].isin(list(frame.KEYS))]
    missing = own["missing"].dropna().astype(str).str.split().map(len)
    return {**values, "harmony.missing": int(missing.sum())}


def _components(table: pd.DataFrame) -> Values:
    first = table[table["component"] == frame.FIRST_COMPONENT].set_index("protocol")["share"]
    return {
        f"harmony.{name}.component_share": first.get(protocol)
        for protocol, name in frame.KEYS.items()
    }


def _significance(table: pd.DataFrame) -> Values:
    values: Values = {}
    for protocol, name in frame.KEYS.items():
        pairs = table[(table["protocol"] == protocol) & (table["task"] == frame.OVERALL)]
        if len(pairs):
            values[f"harmony.{name}.pairs"] = len(pairs)
            values[f"harmony.{name}.pairs_differ"] = (pairs["p_holm"] < LEVEL).sum()
    return values


def _panel(table: pd.DataFrame) -> Values:
    if table.empty:
        return {}
    own = table[(table["origin"] == frame.OWN) & table["pc1"].notna()]
    outside = own["outside"].fillna("") != ""
    return {
        "harmony.placed": own["model"].nunique(),
        "harmony.placed_outside": own.loc[outside, "model"].nunique(),
    }


HARMONY = Study(
    key="harmony",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(
        ("harmony_scores", _scores),
        ("harmony_agreement", _agreement),
        ("harmony_agreement_by_size", partial(tell_by_size, study="harmony")),
        ("harmony_leaderboard", _ranking),
        ("harmony_components", _components),
        ("harmony_variance", partial(tell_variance, study="harmony")),
        ("harmony_significance", _significance),
        ("harmony_panel", _panel),
    ),
)
