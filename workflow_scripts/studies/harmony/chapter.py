"""Compute the numbers of the Harmony chapter: the agreement of tasks before and after training."""

from functools import partial

import pandas as pd

from workflow_scripts.render.numbers import NumberFunctions, Values
from workflow_scripts.render.thresholds import ALPHA, MIN_CLEAR_Z
from workflow_scripts.studies.ranking import grid_tables
from workflow_scripts.studies.ranking.agreement import summarize_agreement
from workflow_scripts.studies.ranking.agreement_by_size import summarize_sizes
from workflow_scripts.studies.ranking.components import summarize_components
from workflow_scripts.studies.ranking.variance import summarize_variance


def _describe_scores(table: pd.DataFrame) -> Values:
    own = table[(table["origin"] == grid_tables.OWN) & table["value"].notna()]
    return {
        "harmony.models": own["model"].nunique(),
        "harmony.tasks": own["task"].nunique(),
        "harmony.cells": len(own),
        "harmony.cells_clear": (own["z"] >= MIN_CLEAR_Z).sum(),
    }


def _describe_ranking(table: pd.DataFrame) -> Values:
    table = table[table["protocol"] != grid_tables.CLIPPED]
    missing = table.loc[table["origin"] == grid_tables.OWN, "missing"].dropna().astype(str)
    first = table[table["rank"] == 1].drop_duplicates("protocol", keep=False)  # without ties
    return {
        "harmony.missing": int(missing.str.split().map(len).sum()),
        **grid_tables.name_numbers(first, "harmony", ["protocol"], ["label", "rank_high"]),
    }


def _describe_significance(table: pd.DataFrame) -> Values:
    overall = table[table["task"] == grid_tables.OVERALL]
    differ = (overall["p_holm"] < ALPHA).groupby(overall["protocol"])
    counts = differ.agg(pairs="size", pairs_differ="sum").reset_index()
    return grid_tables.name_numbers(counts, "harmony", ["protocol"], ["pairs", "pairs_differ"])


def _describe_panel(table: pd.DataFrame) -> Values:
    """Name the ranks on the panel of at most five of our models, each under the last protocol that has it."""
    own = table[(table["origin"] == grid_tables.OWN) & table["pc1"].notna()]
    models = own.drop_duplicates(["model", "variant"], keep="last")[:5].to_dict("records")
    template = "{model}{variant} {rank:.0f} ({best_rank:.0f} to {worst_rank:.0f})"
    return {"harmony.places": "; ".join(template.format(**row) for row in models) or None}


NUMBER_FUNCTIONS: NumberFunctions = {
    "harmony_scores": _describe_scores,
    "harmony_agreement": partial(summarize_agreement, study="harmony"),
    "harmony_agreement_by_size": partial(summarize_sizes, study="harmony"),
    "harmony_leaderboard": _describe_ranking,
    "harmony_components": partial(summarize_components, study="harmony"),
    "harmony_variance": partial(summarize_variance, study="harmony"),
    "harmony_significance": _describe_significance,
    "harmony_panel": _describe_panel,
}
