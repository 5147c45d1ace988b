"""Compute the numbers of MMLU: which models exceed the baseline, under which metric."""

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.render.words import CLEAR
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO


def compute_mmlu_numbers(table: pd.DataFrame) -> Values:
    micro = table[(table["subject"] == MICRO) & table["n"].notna()]  # without failed cells
    if micro.empty:
        return {}
    micro = micro.set_index(micro["model"] + micro["variant"])
    gain = micro["qem"] - micro["em"]
    values: Values = {
        "mmlu.models": len(micro),
        "mmlu.questions": micro["n"].max(),
        "mmlu.baseline": micro["baseline"].max(),
        "mmlu.qem_gain": 100 * gain.max(),
        "mmlu.qem_gain_of": gain.idxmax(),
    }
    for metric in METRICS:
        values[f"mmlu.{metric}_clear"] = (micro[f"{metric}_z"] >= CLEAR).sum()
    return values
