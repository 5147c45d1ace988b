"""Compute the numbers of the chunking study's chapter, which tells of training and MMLU of the same checkpoints too."""

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.mmlu.numbers import mmlu_numbers


def get_quality_numbers(table: pd.DataFrame) -> Values:
    """Compare the trained checkpoint that reads wikitext best with itself untrained and with the whole model."""
    table = table.set_index(table["model"] + table["variant"].fillna(""))
    trained = table[table["tokens"].fillna(0) > 0].dropna(subset=["perplexity"])
    if trained.empty:
        return {}
    best = str(trained["perplexity"].idxmin())
    checkpoint = CheckpointId.parse(best)
    values: Values = {"chunking.best": best}
    for name in ("agreement", "speedup"):
        if pd.notna(value := table.at[best, name]):
            values[f"chunking.best_{name}"] = value
    untrained = str(replace(checkpoint, stages=()))
    for key, name in (("best", best), ("before", untrained), ("whole", checkpoint.model)):
        if name in table.index:
            values[f"chunking.{key}_wikitext"] = table.at[name, "perplexity"]
            values[f"chunking.{key}_wikitext_stderr"] = table.at[name, "perplexity_stderr"]
    return values


def get_ratio_numbers(table: pd.DataFrame) -> Values:
    """Name the smallest and the largest ratio of perplexities."""
    cut = table[(table["chunks"] > 1) & (table["task"] == TEXT)].dropna(subset=["ratio"])
    values: Values = {}
    for key, choose in (("least", "idxmin"), ("most", "idxmax")) if len(cut) else ():
        row = cut.loc[getattr(cut["ratio"], choose)()]
        values[f"chunking.ratio_{key}"] = row["ratio"]
        values[f"chunking.ratio_{key}_chunks"] = row["chunks"]
    return values


def get_speedup_numbers(table: pd.DataFrame) -> Values:
    """Name the plan that writes fastest with its chunks run as one on one device."""
    fused = table[(table["way"] == "fused") & (table["devices"] == 1)]
    fused = fused.dropna(subset=["token_faster"])
    if fused.empty:
        return {}
    fastest = fused.loc[fused["token_faster"].idxmax()]
    return {
        "chunking.fastest": fastest["model"] + fastest["variant"],
        "chunking.fastest_batch": fastest["batch"],
        "chunking.fastest_speedup": fastest["token_faster"],
        "chunking.fastest_timed": len(fused),
        "chunking.fastest_slower": (fused["token_faster"] < 1).sum(),
    }


def get_pruning_numbers(table: pd.DataFrame) -> Values:
    """Compare the set of layers that costs least with the whole model."""
    table = table.dropna(subset=["perplexity"])
    is_whole = table["left_out"] == "none"
    whole, cut = table[is_whole], table[~is_whole]
    if len(whole) != 1 or cut.empty:  # of several models no single set is the best
        return {}
    best, unchanged = cut.loc[cut["perplexity"].idxmin()], whole.iloc[0]
    error = math.hypot(best["perplexity_stderr"], unchanged["perplexity_stderr"])
    return {
        "chunking.pruned": len(cut),
        "chunking.pruned_best": best["left_out"],
        "chunking.pruned_perplexity": best["perplexity"],
        "chunking.pruned_whole": unchanged["perplexity"],
        "chunking.pruned_z": (best["perplexity"] - unchanged["perplexity"]) / error,
    }


CHUNKING = Study(
    key="chunking",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(
        ("chunking_quality", get_quality_numbers),
        ("chunking_perplexity", get_ratio_numbers),
        ("chunking_latency", get_speedup_numbers),
        ("chunking_pruning", get_pruning_numbers),
        ("mmlu_by_subject", mmlu_numbers),
    ),
)
