"""Compute the numbers of MMLU: which models clear the floor, and by which reading of the answers."""

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.render.words import CLEAR
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO


def mmlu_numbers(table: pd.DataFrame) -> Values:
    micro = table[(table["subject"] == MICRO) & table["n"].notna()]  # all but broken cells
    if micro.empty:
        return {}
    names = micro["model"] + micro["variant"]
    values: Values = {
        "mmlu.models": len(micro),
        "mmlu.questions": micro["n"].max(),
        "mmlu.floor": micro["floor"].max(),
    }
    for metric in METRICS:
        scores = micro[metric].dropna()
        if len(scores):
            values[f"mmlu.{metric}_clear"] = (micro.loc[scores.index, f"{metric}_z"] >= CLEAR).sum()
            values[f"mmlu.{metric}_best"] = scores.max()
            values[f"mmlu.{metric}_best_of"] = names[scores.idxmax()]
    gain = (micro["qem"] - micro["em"]).dropna()
    if len(gain):
        values["mmlu.qem_gain"] = 100 * gain.max()
        values["mmlu.qem_gain_of"] = names[gain.idxmax()]
    return values
