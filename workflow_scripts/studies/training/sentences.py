"""Training in numbers and sentences: what the best trained checkpoint gained on wikitext."""

import math
from dataclasses import replace

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.numbers import Number, Numbers, number
from workflow_scripts.render.text import perplexity
from workflow_scripts.render.words import CLEAR
from workflow_scripts.studies.training.stages import UNTRAINED

_TEXT = "wikitext"


def training_numbers(table: pd.DataFrame) -> list[Number]:
    """The trained checkpoint that reads wikitext best, beside itself untrained and the whole model."""
    table = table.set_index(table["model"] + table["variant"].fillna(""))
    trained = table[table["stage"] != UNTRAINED].dropna(subset=[_TEXT])
    if trained.empty:
        return []
    best = str(trained[_TEXT].idxmin())
    checkpoint = CheckpointId.parse(best)
    found = number("chunking.best", best, str, "the best trained on wikitext")
    for key, name, about in (
        ("best", best, "its perplexity of wikitext"),
        ("before", str(replace(checkpoint, stages=())), "the same before training"),
        ("whole", checkpoint.model, "the same of the model it is cut from"),
    ):
        if name in table.index:
            value, stderr = table.loc[name, [_TEXT, f"{_TEXT} stderr"]]
            found += number(f"chunking.{key}_wikitext", value, perplexity, about)
            error = f"standard error of {about}"
            found += number(f"chunking.{key}_wikitext_stderr", stderr, perplexity, error)
    return found


def tell_training(numbers: Numbers) -> str:
    if "chunking.best" not in numbers or "chunking.before_wikitext" not in numbers:
        return ""
    text = (
        "Of the trained checkpoints {chunking.best} reads wikitext best: its perplexity went from"
        " {chunking.before_wikitext} to {chunking.best_wikitext}"
    )
    if "chunking.whole_wikitext_stderr" not in numbers:
        return f"{text}."
    errors = [numbers.value(f"chunking.{key}_wikitext_stderr") for key in ("best", "whole")]
    difference = numbers.value("chunking.best_wikitext") - numbers.value("chunking.whole_wikitext")
    z = difference / (math.hypot(*errors) or math.inf)
    compared = (
        "below that of"
        if z <= -CLEAR
        else "above that of"
        if z >= CLEAR
        else "within its errors of"
    )
    text += f", {compared} the model it is cut from, {{chunking.whole_wikitext}}."
    if z <= -CLEAR:
        text += " That model was not trained on such text here, so this is no praise of the chunks."
    return text
