"""Compute the numbers of the chunking chapter, including training and MMLU of the chunked checkpoints."""

from dataclasses import replace

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.numbers import NumberFunctions, Values
from workflow_scripts.render.thresholds import MIN_CLEAR_Z
from workflow_scripts.stats.proportions import compute_baseline_z
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO


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
    return values


def get_mmlu_numbers(table: pd.DataFrame) -> Values:
    """Count the models that exceed the baseline of MMLU, under each metric."""
    micro = table[(table["subject"] == MICRO) & table["n"].notna()]  # without failed cells
    values = {
        "mmlu.models": len(micro),
        "mmlu.questions": micro["n"].max(),
        "mmlu.baseline": micro["baseline"].max(),
    }
    for metric in METRICS:
        stderr = micro[f"{metric}_stderr"]
        z = compute_baseline_z(micro[metric], stderr, micro["baseline"], micro["n"])
        values[f"mmlu.{metric}_clear"] = (z >= MIN_CLEAR_Z).sum()
    return values


NUMBER_FUNCTIONS: NumberFunctions = {
    "chunking_quality": get_quality_numbers,
    "mmlu_by_subject": get_mmlu_numbers,
}
