"""The Harmony study in numbers and sentences: do tasks agree about models, before and after training?"""

from collections.abc import Iterator

import pandas as pd

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number, percent
from workflow_scripts.render.words import CLEAR, LEVEL, joined
from workflow_scripts.studies.ranking import frame

# By the key that stands in the names of numbers.
_WORDS = {key: frame.TOLD[protocol] for protocol, key in frame.KEYS.items()}
_AGREEMENT = (
    (frame.MEAN, "agreement", "mean Kendall's tau-b of two different tasks"),
    (frame.CEILING, "ceiling", "what that mean could be if noise alone parted the tasks"),
    (frame.DIFFERENCE, "difference", "its difference from models as they are"),
)


def harmony_numbers(tables: Tables) -> list[Number]:
    parts = {
        "harmony_scores": _scores,
        "harmony_agreement": _agreement,
        "harmony_leaderboard": _ranking,
        "harmony_components": _components,
        "harmony_significance": _significance,
        "harmony_panel": _panel,
    }
    return [one for name, part in parts.items() if name in tables for one in part(tables[name])]


def _scores(table: pd.DataFrame) -> Iterator[Number]:
    own = table[(table["origin"] == frame.OWN) & table["value"].notna()]
    clear = int((own["z"] >= CLEAR).sum())
    yield from number("harmony.models", own["model"].nunique(), count, "models of the grid")
    yield from number("harmony.tasks", own["task"].nunique(), count, "tasks of the grid")
    about = "models times tasks measured as they are"
    yield from number("harmony.cells", len(own), count, about)
    about = "of these, scores that clear their floor"
    yield from number("harmony.cells_clear", clear, count, about)
    share = clear / len(own) if len(own) else None
    yield from number("harmony.clear_share", share, percent, "the same as a share")


def _agreement(table: pd.DataFrame) -> Iterator[Number]:
    for protocol, name in frame.KEYS.items():
        for statistic, key, about in _AGREEMENT:
            chosen = (table["protocol"] == protocol) & (table["statistic"] == statistic)
            for row in table[chosen].itertuples():
                start = f"harmony.{name}.{key}"
                yield from number(start, row.value, fixed(2), f"{about}, {name}")
                for over, low, high in (
                    ("", row.models_low, row.models_high),
                    ("items_", row.items_low, row.items_high),
                ):
                    for end, value in (("low", low), ("high", high)):
                        about_end = (
                            f"the {end} end of its 95% interval over {over[:-1] or 'models'}"
                        )
                        yield from number(f"{start}_{over}{end}", value, fixed(2), about_end)


def _ranking(table: pd.DataFrame) -> Iterator[Number]:
    for protocol, name in frame.KEYS.items():
        ranked = table[(table["protocol"] == protocol) & table["rank"].notna()]
        if len(ranked):
            about = f"models ranked, {name}"
            yield from number(f"harmony.{name}.ranked", len(ranked), count, about)
        first = ranked[ranked["rank"] == 1]
        if len(first) == 1:
            (row,) = first.itertuples()
            about = f"the first of them, {name}"
            yield from number(f"harmony.{name}.first", row.label, str, about)
            about = f"the last rank it could have within the errors of the scores, {name}"
            yield from number(f"harmony.{name}.first_last", row.rank_high, count, about)
    asked = table[(table["origin"] == frame.OWN) & table["protocol"].isin(list(frame.KEYS))]
    cells = int(asked["missing"].dropna().astype(str).str.split().map(len).sum())
    yield from number("harmony.missing", cells, count, "cells of the grid without a score")


def _components(table: pd.DataFrame) -> Iterator[Number]:
    for protocol, name in frame.KEYS.items():
        first = (table["protocol"] == protocol) & (table["component"] == frame.FIRST_COMPONENT)
        for share in table.loc[first, "share"]:
            about = f"share of the variance that the first component has, {name}"
            yield from number(f"harmony.{name}.component_share", share, percent, about)


def _significance(table: pd.DataFrame) -> Iterator[Number]:
    for protocol, name in frame.KEYS.items():
        pairs = table[(table["protocol"] == protocol) & (table["task"] == frame.OVERALL)]
        if len(pairs):
            differ = int((pairs["p_holm"] < LEVEL).sum())
            about = f"pairs of models, {name}"
            yield from number(f"harmony.{name}.pairs", len(pairs), count, about)
            about = f"of these, pairs whose mean scores differ significantly, {name}"
            yield from number(f"harmony.{name}.pairs_differ", differ, count, about)


def _panel(table: pd.DataFrame) -> Iterator[Number]:
    own = table[(table["origin"] == frame.OWN) & table["pc1"].notna()]
    if len(table):
        outside = own.loc[own["outside"].fillna("") != "", "model"].nunique()
        about = "models placed on the panel"
        yield from number("harmony.placed", own["model"].nunique(), count, about)
        about = "of these, some with scores outside it"
        yield from number("harmony.placed_outside", outside, count, about)


def tell_harmony(numbers: Numbers) -> list[str]:
    paragraphs = []
    if "harmony.cells" in numbers and numbers.value("harmony.cells"):
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
    for name, words in _told(numbers, "agreement"):
        start = f"harmony.{name}.agreement"
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
        f"{'; '.join(each)}."
    )
    start = f"harmony.{frame.KEYS[frame.TRAINED]}.difference"
    if not all(f"{start}{end}" in numbers for end in ("", "_low", "_high")):
        return text
    interval = f"{{{start}_low}} to {{{start}_high}}"
    of_these = ""
    if f"{start}_items_low" in numbers and f"{start}_items_high" in numbers:
        of_these = (
            f" Of these very models it would be {{{start}_items_low}} to {{{start}_items_high}} had"
            " other test items been drawn."
        )
    if numbers.value(f"{start}_low") > 0:
        return f"{text} Training before the test raises it by {{{start}}} ({interval}).{of_these}"
    if numbers.value(f"{start}_high") < 0:
        return f"{text} Training before the test changes it by {{{start}}} ({interval}): it falls.{of_these}"
    return (
        f"{text} The change with training, {{{start}}}, has an interval of {interval}, which holds"
        f" zero: other models of the kind might not show it.{of_these}"
    )


def _told(numbers: Numbers, key: str) -> list[tuple[str, str]]:
    """The protocols that have a number of this key, each with its words."""
    return [(name, words) for name, words in _WORDS.items() if f"harmony.{name}.{key}" in numbers]


def _tell_ranking(numbers: Numbers) -> str:
    firsts, sentences = _told(numbers, "first"), []
    if len({numbers.value(f"harmony.{name}.first") for name, _ in firsts}) == 1:
        how = joined([words for _, words in firsts])
        sentences.append(
            "By the first principal component of the scores"
            f" {{harmony.{firsts[0][0]}.first}} ranks first {how}."
        )
    elif firsts:
        each = joined([f"{words} {{harmony.{name}.first}}" for name, words in firsts])
        sentences.append(f"First by the first principal component of the scores is {each}.")
    lowest = [(f"harmony.{name}.first_last", words) for name, words in firsts]
    if lower := [
        f"{{{key}}} {words}" for key, words in lowest if key in numbers and numbers.value(key) > 1
    ]:
        sentences.append(
            f"Within the errors of the scores the rank of the first could be as low as {joined(lower)}."
        )
    if shares := _told(numbers, "component_share"):
        each = joined([f"{{harmony.{name}.component_share}} {words}" for name, words in shares])
        sentences.append(f"Of the variance of the scores that component has {each}.")
    if pairs := _told(numbers, "pairs"):
        each = joined(
            [
                f"{{harmony.{name}.pairs_differ}} of {{harmony.{name}.pairs}} {words}"
                for name, words in pairs
            ]
        )
        sentences.append(f"Pairs of models whose mean scores differ significantly: {each}.")
    return " ".join(sentences)


def _tell_panel(numbers: Numbers) -> str:
    if "harmony.placed" not in numbers or not numbers.value("harmony.placed"):
        return ""
    text = (
        "On the published leaderboard of {published.panel_models} models, {harmony.placed} of ours have"
        " a place predicted from the tasks they share with it."
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
    numbers=harmony_numbers,
    tell=tell_harmony,
)
