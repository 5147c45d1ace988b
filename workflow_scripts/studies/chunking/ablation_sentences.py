"""The ablation in numbers and sentences: how many choices matter, and which matters most."""

import pandas as pd

from workflow_scripts.render.numbers import Number, Numbers, count, number
from workflow_scripts.render.text import fixed
from workflow_scripts.studies.chunking.ablation import is_sure, of_choices

# What is told of: the text that models are trained on first, and the letters that are likeliest.
_TOLD = {"wikitext": -1, "acc": 1}  # and which sign is better


def ablation_numbers(table: pd.DataFrame) -> list[Number]:
    """Of the choices other than usual, after all their training: how many differ from the usual form."""
    trained = table["trained_tokens"].fillna(0) > 0
    if not trained.any():
        return []
    last = table.loc[trained, "stage"].iloc[-1]
    table = of_choices(table[table["stage"] == last])
    found = []
    for measure, better in _TOLD.items():
        rows = table[table["measure"] == measure]
        if rows.empty:
            continue
        sure = rows[[is_sure(p) for p in rows["p_holm"]]]
        gains = better * sure["difference"]
        name = f"chunking.choice_{measure}"
        about = f"of these, significantly {{}} than the usual form, by {measure}"
        found += number(f"{name}_all", len(rows), count, "choices held against the usual form")
        found += number(f"{name}_better", int((gains > 0).sum()), count, about.format("better"))
        found += number(f"{name}_worse", int((gains < 0).sum()), count, about.format("worse"))
        if not sure.empty:
            most = sure.loc[gains.abs().idxmax()]
            id = f"{most['model']}{most['variant']}"
            found += number(f"{name}_most", most["changed"], str, "the choice that matters most")
            found += number(f"{name}_most_of", id, str, "the checkpoint that has it")
            found += number(f"{name}_most_gain", gains.abs().max(), _shown(measure), "by how much")
            found += number(f"{name}_most_helps", int(gains[most.name] > 0), count, "1: it helps")
    return found


def _shown(measure: str):
    return (lambda gain: fixed(gain, ".3f")) if measure == "wikitext" else _points


def _points(gain: float) -> str:
    return fixed(100 * gain, ".1f")


def tell_ablation(numbers: Numbers) -> str:
    told = (
        _tell(numbers, "wikitext", "nats per token of wikitext", "In perplexity of wikitext"),
        _tell(numbers, "acc", "points of MMLU", "On MMLU, by the likeliest letter,"),
    )
    sentences = [sentence for sentence in told if sentence]
    if not sentences:
        return ""
    lead = (
        "Aggregation, adapters and distillation were tried at equal training tokens, each choice against the"
        " usual form of the same layers, on the same text and questions."
    )
    return " ".join([lead, *sentences])


def _tell(numbers: Numbers, measure: str, unit: str, lead: str) -> str:
    name = f"chunking.choice_{measure}"
    if f"{name}_all" not in numbers:
        return ""
    if f"{name}_most" not in numbers:
        return f"{lead} none of {{{name}_all}} choices differs from it by more than chance."
    does = "gains" if numbers.value(f"{name}_most_helps") else "costs"
    return (
        f"{lead} {{{name}_better}} of {{{name}_all}} choices are better than it and {{{name}_worse}} are worse"
        f" by more than chance; {{{name}_most}} ({{{name}_most_of}}) {does} most, {{{name}_most_gain}} {unit}."
    )
