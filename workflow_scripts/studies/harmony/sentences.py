"""The Harmony study in numbers and sentences: do tasks agree about models, before and after training?"""

import pandas as pd

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import (
    Number,
    Numbers,
    count,
    fixed,
    number,
    percent,
)
from workflow_scripts.render.words import CLEAR, LEVEL, joined
from workflow_scripts.studies.harmony.grid import OWN

# How each protocol is called in the names of numbers.
_PROTOCOLS = {"direct": "direct", "few_shot": "few_shot", "train_before_test": "trained"}
_WORDS = {
    "direct": "as the models are",
    "few_shot": "with worked examples",
    "trained": "after training",
}


def harmony_numbers(tables: Tables) -> list[Number]:
    return [
        *_scores(tables.get("harmony_scores")),
        *_agreement(tables.get("harmony_agreement")),
        *_ranking(tables.get("harmony_leaderboard")),
        *_components(tables.get("harmony_components")),
        *_significance(tables.get("harmony_significance")),
        *_panel(tables.get("harmony_panel")),
    ]


def _scores(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    own = table[table["origin"] == OWN]
    clear = int((own["z"] >= CLEAR).sum())
    return [
        *number("harmony.models", own["model"].nunique(), count, "models of the grid"),
        *number("harmony.tasks", own["task"].nunique(), count, "tasks of the grid"),
        *number("harmony.cells", len(own), count, "models times tasks measured as they are"),
        *number("harmony.cells_clear", clear, count, "of these, scores that clear their floor"),
        *number("harmony.clear_share", clear / len(own), percent, "the same as a share"),
    ]


def _agreement(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    found = []
    for protocol, name in _PROTOCOLS.items():
        for statistic, key, about in (
            ("mean", "agreement", "mean Kendall's tau-b of two different tasks"),
            ("ceiling", "ceiling", "what that mean could be if noise alone parted the tasks"),
            ("difference_from_direct", "difference", "its difference from models as they are"),
        ):
            chosen = (table["protocol"] == protocol) & (table["statistic"] == statistic)
            for row in table[chosen].itertuples():
                start = f"harmony.{name}.{key}"
                found += number(start, row.value, fixed(2), f"{about}, {name}")
                for end, value in (("low", row.models_low), ("high", row.models_high)):
                    about_end = f"the {end} end of its 95% interval over models"
                    found += number(f"{start}_{end}", value, fixed(2), about_end)
    return found


def _ranking(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    found = []
    for protocol, name in _PROTOCOLS.items():
        ranked = table[(table["protocol"] == protocol) & table["rank"].notna()]
        about = f"models ranked, {name}"
        found += number(f"harmony.{name}.ranked", len(ranked), count, about) if len(ranked) else []
        first = ranked[ranked["rank"] == 1]
        if len(first) == 1:
            (row,) = first.itertuples()
            found += number(f"harmony.{name}.first", row.label, str, f"the first of them, {name}")
            low = f"the last rank it could have within the errors of the scores, {name}"
            found += number(f"harmony.{name}.first_last", row.rank_high, count, low)
    asked = table[(table["origin"] == OWN) & table["protocol"].isin(list(_PROTOCOLS))]
    cells = int(asked["missing"].dropna().astype(str).str.split().map(len).sum())
    return found + number("harmony.missing", cells, count, "cells of the grid without a score")


def _components(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    found = []
    for protocol, name in _PROTOCOLS.items():
        for row in table[
            (table["protocol"] == protocol) & (table["component"] == "PC1")
        ].itertuples():
            about = f"share of the variance that the first component has, {name}"
            found += number(f"harmony.{name}.component_share", row.share, percent, about)
    return found


def _significance(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    found = []
    for protocol, name in _PROTOCOLS.items():
        pairs = table[(table["protocol"] == protocol) & (table["task"] == "mean of tasks")]
        if len(pairs):
            differ = int((pairs["p_holm"] < LEVEL).sum())
            found += number(f"harmony.{name}.pairs", len(pairs), count, f"pairs of models, {name}")
            about = f"of these, pairs whose mean scores differ significantly, {name}"
            found += number(f"harmony.{name}.pairs_differ", differ, count, about)
    return found


def _panel(table: pd.DataFrame | None) -> list[Number]:
    if table is None or table.empty:
        return []
    own = table[(table["origin"] == OWN) & table["pc1"].notna()]
    outside = own.loc[own["outside"].notna(), "model"].nunique()
    return [
        *number("harmony.placed", own["model"].nunique(), count, "models placed on the panel"),
        *number("harmony.placed_outside", outside, count, "of these, some with scores outside it"),
    ]


def tell_harmony(numbers: Numbers) -> list[str]:
    paragraphs = []
    if "harmony.cells" in numbers:
        paragraphs.append(
            "{harmony.models} models were measured on {harmony.tasks} tasks. As they are,"
            " {harmony.cells_clear} of {harmony.cells} scores clear their floor, the better of a random"
            " and the best fixed answer, by {limit.clear} standard errors or more; the others show"
            " nothing."
        )
    paragraphs += [_tell_agreement(numbers), _tell_ranking(numbers), _tell_panel(numbers)]
    if "harmony.missing" in numbers and numbers.value("harmony.missing"):
        paragraphs.append(
            "Cells of the grid without a score: {harmony.missing}. Models that lack one are not ranked;"
            " the leaderboard's table names them."
        )
    return [paragraph for paragraph in paragraphs if paragraph]


def _tell_agreement(numbers: Numbers) -> str:
    each = []
    for name, words in _WORDS.items():
        start = f"harmony.{name}.agreement"
        if start not in numbers:
            continue
        text = f"{{{start}}} {words}"
        if f"{start}_low" in numbers and f"{start}_high" in numbers:
            text += f" ({{{start}_low}} to {{{start}_high}} over other models of the kind)"
        if f"harmony.{name}.ceiling" in numbers:
            text += f", where noise alone would leave {{harmony.{name}.ceiling}}"
        each.append(text)
    if not each:
        return ""
    text = (
        "The mean agreement of two tasks about the models, Kendall’s tau-b of their rankings, is "
    )
    text += "; ".join(each) + "."
    start = "harmony.trained.difference"
    if not all(f"{start}{end}" in numbers for end in ("", "_low", "_high")):
        return text
    interval = f"{{{start}_low}} to {{{start}_high}}"
    if numbers.value(f"{start}_low") > 0:
        return f"{text} Training before the test raises it by {{{start}}} ({interval})."
    if numbers.value(f"{start}_high") < 0:
        return f"{text} Training before the test changes it by {{{start}}} ({interval}): it falls."
    return (
        f"{text} The change with training, {{{start}}}, has an interval of {interval}, which holds"
        " zero: other models of the kind might not show it."
    )


def _tell_ranking(numbers: Numbers) -> str:
    firsts = {
        n: numbers.value(f"harmony.{n}.first") for n in _WORDS if f"harmony.{n}.first" in numbers
    }
    sentences = []
    if firsts and len(set(firsts.values())) == 1:
        names = list(firsts)
        how = joined([_WORDS[name] for name in names])
        sentences.append(
            f"By the first principal component of the scores {{harmony.{names[0]}.first}} ranks first"
            f" {how}."
        )
    else:
        each = [f"{_WORDS[name]} {{harmony.{name}.first}}" for name in firsts]
        sentences += (
            [f"First by the first principal component of the scores is {joined(each)}."]
            if each
            else []
        )
    for name in firsts:
        if (key := f"harmony.{name}.first_last") in numbers and numbers.value(key) > 1:
            sentences.append(
                f"Within the errors of the scores it could be as low as {{{key}}} {_WORDS[name]}."
            )
    shares = [n for n in _WORDS if f"harmony.{n}.component_share" in numbers]
    if shares:
        each = [f"{{harmony.{name}.component_share}} {_WORDS[name]}" for name in shares]
        sentences.append(f"Of the variance of the scores that component has {joined(each)}.")
    pairs = [n for n in _WORDS if f"harmony.{n}.pairs" in numbers]
    if pairs:
        each = [
            f"{{harmony.{name}.pairs_differ}} of {{harmony.{name}.pairs}} {_WORDS[name]}"
            for name in pairs
        ]
        sentences.append(f"Pairs of models whose mean scores differ significantly: {joined(each)}.")
    return " ".join(sentences)


def _tell_panel(numbers: Numbers) -> str:
    if "harmony.placed" not in numbers or not numbers.value("harmony.placed"):
        return ""
    text = (
        "On the published leaderboard of {published.panel_models} models, {harmony.placed} of ours have"
        " a place foretold from the tasks they share with it."
    )
    if numbers.value("run.source") == "miniature":
        return f"{text} Generated models answer generated questions: that place shows that it works, and nothing else."
    if numbers.value("harmony.placed_outside"):
        return (
            f"{text} Of these, {{harmony.placed_outside}} have scores outside of the panel’s range, and"
            " their place is guesswork."
        )
    return text


HARMONY = Study(
    key="harmony",
    title="Do tasks agree about models?",
    tables=(
        *("harmony_leaderboard", "harmony_agreement", "harmony_components"),
        *("harmony_significance", "harmony_panel", "harmony_scores", "harmony_perplexity"),
    ),
    figures=(
        *("harmony_matrices", "harmony_bump", "harmony_agreement_by_task", "harmony_categories"),
        *("harmony_components", "harmony_pc1_by_size", "harmony_panel", "harmony_scores"),
        "harmony_perplexity",
    ),
    numbers=harmony_numbers,
    tell=tell_harmony,
)
