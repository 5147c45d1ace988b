"""MMLU in numbers and sentences: which models clear the floor, and by which reading of the answers."""

import pandas as pd

from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number
from workflow_scripts.render.words import CLEAR, joined
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO

_HOW = {"em": "by the generated letter", "qem": "as published", "acc": "by the likeliest letter"}


def mmlu_numbers(table: pd.DataFrame) -> list[Number]:
    micro = table[(table["subject"] == MICRO) & table["n"].notna()]  # all but broken cells
    if micro.empty:
        return []
    found = [
        *number("mmlu.models", len(micro), count, "models and checkpoints that MMLU was asked"),
        *number("mmlu.questions", micro["n"].max(), count, "questions of MMLU"),
        *number("mmlu.floor", micro["floor"].max(), fixed(3), "the floor of all questions"),
    ]
    for metric in METRICS:
        scored = micro.dropna(subset=[metric])
        if scored.empty:
            continue
        clear = int((scored[f"{metric}_z"] >= CLEAR).sum())
        best = scored.loc[scored[metric].idxmax()]
        found += number(f"mmlu.{metric}_clear", clear, count, f"that clear the floor by {metric}")
        found += number(f"mmlu.{metric}_best", best[metric], fixed(3), f"the best by {metric}")
        name = best["model"] + best["variant"]
        found += number(f"mmlu.{metric}_best_of", name, str, f"which that is, {metric}")
    gain = (micro["qem"] - micro["em"]).dropna()
    if len(gain):
        about = "most that HELM's normalisation adds to a score, in percentage points"
        found += number("mmlu.qem_gain", 100 * gain.max(), fixed(1), about)
        of = micro.loc[gain.idxmax()]
        found += number("mmlu.qem_gain_of", of["model"] + of["variant"], str, "whose that is")
    return found


def tell_mmlu(numbers: Numbers) -> str:
    asked = [metric for metric in METRICS if f"mmlu.{metric}_clear" in numbers]
    if not asked:
        return ""
    text = (
        "{mmlu.models} models and checkpoints answered {mmlu.questions} questions of MMLU, whose floor"
        " is {mmlu.floor}."
    )
    clear = [metric for metric in asked if numbers.value(f"mmlu.{metric}_clear")]
    if not clear:
        text += (
            " None clears it by {limit.clear} standard errors, however the answers are read: these scores"
            " show nothing of what the models know."
        )
    else:
        each = [
            f"{{mmlu.{m}_clear}} {_HOW[m]} (best: {{mmlu.{m}_best_of}}, {{mmlu.{m}_best}})"
            for m in clear
        ]
        text += f" It is cleared by {{limit.clear}} standard errors or more by {joined(each)}."
        if others := [_HOW[m] for m in asked if m not in clear]:
            text += f" Read {joined(others)}, none clears it."
    if "mmlu.qem_gain" in numbers and numbers.value("mmlu.qem_gain") > 0:
        text += (
            " The published reading forgives articles and punctuation, and counts an answer of which then"
            " nothing is left as a right A: that adds up to {mmlu.qem_gain} percentage points"
            " ({mmlu.qem_gain_of})."
        )
    return text
