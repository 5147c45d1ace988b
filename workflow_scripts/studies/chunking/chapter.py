"""Compute the numbers of the chunking chapter, including training and MMLU of the chunked checkpoints."""

from dataclasses import replace

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.numbers import Numbers, Values
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.mmlu.numbers import compute_mmlu_numbers


def get_quality_numbers(table: pd.DataFrame) -> Values:
    """Compare the best trained checkpoint on wikitext with its untrained version and the unchanged model."""
    table = table.set_index(table["model"] + table["variant"])
    trained = table[table["tokens"].fillna(0) > 0].dropna(subset=["perplexity"])
    if trained.empty:
        return {}
    best = str(trained["perplexity"].idxmin())
    checkpoint = CheckpointId.parse(best)
    values: Values = {"chunking.best": best}
    values |= table.loc[best, ["agreement", "speedup"]].add_prefix("chunking.best_")
    untrained = str(replace(checkpoint, stages=()))
    for key, name in (("best", best), ("before", untrained), ("whole", checkpoint.model)):
        values[f"chunking.{key}_wikitext"] = table["perplexity"].get(name)
        values[f"chunking.{key}_wikitext_stderr"] = table["perplexity_stderr"].get(name)
    return values


def get_ratio_numbers(table: pd.DataFrame) -> Values:
    """Return the smallest and the largest ratio of perplexities."""
    chunked = table[(table["chunks"] > 1) & (table["task"] == TEXT)].dropna(subset=["ratio"])
    if chunked.empty:
        return {}
    least = chunked.loc[chunked["ratio"].idxmin()]
    most = chunked.loc[chunked["ratio"].idxmax()]
    return {
        "chunking.ratio_least": least["ratio"],
        "chunking.ratio_least_chunks": least["chunks"],
        "chunking.ratio_most": most["ratio"],
        "chunking.ratio_most_chunks": most["chunks"],
    }


def get_speedup_numbers(table: pd.DataFrame) -> Values:
    """Return the plan with the fastest generation with fused chunks on one device."""
    fused = table[(table["way"] == "fused") & (table["devices"] == 1)]
    fused = fused.dropna(subset=["token_faster"])
    if fused.empty:
        return {}
    fastest = fused.loc[fused["token_faster"].idxmax()]
    return {
        "chunking.fastest": fastest["model"] + fastest["variant"],
        "chunking.fastest_batch": fastest["batch"],
        "chunking.fastest_speedup": fastest["token_faster"],
    }


NUMBERS: Numbers = {
    "chunking_quality": get_quality_numbers,
    "chunking_perplexity": get_ratio_numbers,
    "chunking_latency": get_speedup_numbers,
    "mmlu_by_subject": compute_mmlu_numbers,
}
