"""The chunking study in numbers and sentences: what cutting layers into chunks costs and saves."""

import math

import pandas as pd

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number
from workflow_scripts.render.words import CLEAR, joined
from workflow_scripts.studies.chunking.perplexity import big
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO

_TEXT = "wikitext"
_HOW = {"em": "by the generated letter", "qem": "as published", "acc": "by the likeliest letter"}


def chunking_numbers(tables: Tables) -> list[Number]:
    return [
        *_summary(tables.get("chunking_summary")),
        *_untrained(tables.get("chunking_perplexity")),
        *_times(tables.get("chunking_latency")),
        *_pruned(tables.get("chunking_pruning")),
        *_mmlu(tables.get("mmlu_by_subject")),
    ]


def _summary(table: pd.DataFrame | None) -> list[Number]:
    """How many there are, and the trained checkpoint that reads wikitext best."""
    if table is None:
        return []
    table = table.fillna({"variant": ""})
    found = [
        *number("chunking.models", table["model"].nunique(), count, "models that are cut"),
        *number("chunking.checkpoints", int((table["variant"] != "").sum()), count, "checkpoints"),
    ]
    trained = table[table["variant"].str.contains("+", regex=False)].dropna(subset=[_TEXT])
    if trained.empty:
        return found
    best = trained.loc[trained[_TEXT].idxmin()]
    same = table[table["model"] == best["model"]].set_index("variant")
    start = best["variant"].split("+")[0]
    found += number(
        "chunking.best", best["model"] + best["variant"], str, "the best trained on wikitext"
    )
    for key, variant, about in (
        ("best", best["variant"], "its perplexity of wikitext"),
        ("before", start, "the same before training"),
        ("whole", "", "the same of the model it is cut from"),
    ):
        if variant in same.index:
            row = same.loc[variant]
            found += number(f"chunking.{key}_wikitext", row[_TEXT], big, about)
            error = f"standard error of {about}"
            found += number(f"chunking.{key}_wikitext_stderr", row[f"{_TEXT}_stderr"], big, error)
    return found


def _untrained(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    cut = table[(table["chunks"] > 1) & (table["task"] == _TEXT)]
    if cut.empty:
        return []
    least, most = cut.loc[cut["ratio"].idxmin()], cut.loc[cut["ratio"].idxmax()]
    return [
        *number(
            "chunking.ratio_least", least["ratio"], big, "least ratio of wikitext's perplexity"
        ),
        *number("chunking.ratio_least_chunks", least["chunks"], count, "in how many chunks"),
        *number("chunking.ratio_most", most["ratio"], big, "greatest ratio of that perplexity"),
        *number("chunking.ratio_most_chunks", most["chunks"], count, "in how many chunks"),
    ]


def _times(table: pd.DataFrame | None) -> list[Number]:
    """Of the plans, run as one, the one that writes fastest beside the unchanged model."""
    if table is None:
        return []
    fused = table[table["way"] == "fused"].dropna(subset=["token_faster"])
    if fused.empty:
        return []
    best = fused.loc[fused["token_faster"].idxmax()]
    slower = int((fused["token_faster"] < 1).sum())
    loop = table[table["way"] == "loop"].dropna(subset=["token_faster"])
    slower_loop = int((loop["token_faster"] < 1).sum())
    return [
        *number("chunking.timed_loop", len(loop), count, "the same, one chunk after the other"),
        *number("chunking.slower_loop", slower_loop, count, "of these, slower than unchanged"),
        *number("chunking.timed", len(fused), count, "plans times batch sizes that were timed"),
        *number("chunking.slower", slower, count, "of these, slower than the unchanged model"),
        *number("chunking.fastest", best["plan"], str, "the plan that writes fastest"),
        *number("chunking.fastest_batch", best["batch"], count, "rows of the batch it does so in"),
        *number("chunking.faster", best["token_faster"], fixed(2), "its speed over the unchanged"),
    ]


def _pruned(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    whole = table[table["left_out"].isna() | (table["left_out"].astype(str) == "")]
    cut = table.drop(whole.index)
    if len(whole) != 1 or cut.empty:  # of several models no single set is the best
        return []
    (whole,), best = whole.itertuples(), cut.loc[cut["perplexity"].idxmin()]
    z = (best["perplexity"] - whole.perplexity) / math.hypot(
        best["perplexity_stderr"], whole.perplexity_stderr
    )
    return [
        *number("chunking.pruned", len(cut), count, "sets of layers left out"),
        *number("chunking.pruned_best", best["left_out"], str, "the set with the least perplexity"),
        *number(
            "chunking.pruned_perplexity", best["perplexity"], big, "its perplexity of wikitext"
        ),
        *number("chunking.pruned_whole", whole.perplexity, big, "the same with every layer"),
        *number("chunking.pruned_z", z, fixed(1), "their difference in standard errors"),
    ]


def _mmlu(table: pd.DataFrame | None) -> list[Number]:
    if table is None:
        return []
    table = table.fillna({"variant": ""})
    micro = table[table["subject"] == MICRO]
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


def tell_chunking(numbers: Numbers) -> list[str]:
    told = (_tell_cost(numbers), _tell_training(numbers), _tell_mmlu(numbers), _tell_times(numbers))
    return [paragraph for paragraph in told if paragraph]


def _tell_cost(numbers: Numbers) -> str:
    sentences = []
    if "chunking.ratio_least" in numbers:
        sentences.append(
            "Without any training, chunks of consecutive layers side by side multiply the perplexity of"
            " wikitext by {chunking.ratio_least} ({chunking.ratio_least_chunks} chunks) to"
            " {chunking.ratio_most} ({chunking.ratio_most_chunks} chunks)."
        )
    if "chunking.pruned_z" in numbers:
        z = numbers.value("chunking.pruned_z")
        compared = (
            "less than" if z <= -CLEAR else "more than" if z >= CLEAR else "within its errors of"
        )
        sentences.append(
            "Of {chunking.pruned} sets of layers to leave out, that of the layers {chunking.pruned_best} costs least: a"
            f" perplexity of {{chunking.pruned_perplexity}}, {compared} the {{chunking.pruned_whole}} of"
            " the whole model. It is the best of several on this text, and so flattered by chance."
        )
    return " ".join(sentences)


def _tell_training(numbers: Numbers) -> str:
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


def _tell_mmlu(numbers: Numbers) -> str:
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


def _tell_times(numbers: Numbers) -> str:
    if "chunking.faster" not in numbers:
        return ""
    text = (
        "The plan {chunking.fastest} in batches of {chunking.fastest_batch} writes tokens"
        " {chunking.faster} times as fast as the unchanged model, the most of {chunking.timed}"
        " combinations of plan and batch size"
    )
    if numbers.value("chunking.slower"):
        text += "; {chunking.slower} of them are slower than the unchanged model."
    else:
        text += ", none of which is slower."
    text += " That is with the chunks' layers run as one (fused, solid lines in the figure)."
    if numbers.value("chunking.timed_loop"):
        text += (
            " Run one after the other (loop, dashed) {chunking.slower_loop} of"
            " {chunking.timed_loop} are slower than the unchanged model."
        )
    return text


CHUNKING = Study(
    key="chunking",
    title="What do chunks of layers cost, and save?",
    tables=(
        *("chunking_summary", "training_stages", "chunking_plans", "chunking_latency"),
        *("chunking_perplexity", "chunking_pruning", "mmlu_by_subject"),
    ),
    figures=(
        *("training_curves", "chunking_latency", "chunking_perplexity", "chunking_pruning"),
        "mmlu_by_subject",
    ),
    numbers=chunking_numbers,
    tell=tell_chunking,
)
