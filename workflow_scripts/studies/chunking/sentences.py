"""The chunking study in numbers and sentences: what cutting layers into chunks costs and saves.

The chapter of the report holds what training and MMLU have to tell of the same checkpoints too.
"""

import math

import pandas as pd

from workflow_scripts.render.chapter import Study, Tables
from workflow_scripts.render.numbers import Number, Numbers, count, fixed, number
from workflow_scripts.render.text import perplexity
from workflow_scripts.render.words import CLEAR
from workflow_scripts.studies.chunking.ablation import TABLE as ABLATION
from workflow_scripts.studies.chunking.ablation_sentences import ablation_numbers, tell_ablation
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.chunking.latency import TABLE as LATENCY
from workflow_scripts.studies.chunking.latency import layers_alone
from workflow_scripts.studies.chunking.perplexity import TABLE as PERPLEXITY
from workflow_scripts.studies.chunking.pruning import TABLE as PRUNING
from workflow_scripts.studies.chunking.summary import TABLE as SUMMARY
from workflow_scripts.studies.mmlu.by_subject import TABLE as MMLU
from workflow_scripts.studies.mmlu.sentences import mmlu_numbers, tell_mmlu
from workflow_scripts.studies.training.sentences import tell_training, training_numbers
from workflow_scripts.studies.training.stages import TABLE as STAGES


def _checkpoints(table: pd.DataFrame) -> list[Number]:
    return [
        *number("chunking.models", table["model"].nunique(), count, "models that are cut"),
        *number("chunking.checkpoints", int((table["variant"] != "").sum()), count, "checkpoints"),
    ]


def _untrained(table: pd.DataFrame) -> list[Number]:
    cut = table[(table["chunks"] > 1) & (table["task"] == TEXT)]
    if cut.empty:
        return []
    least, most = cut.loc[cut["ratio"].idxmin()], cut.loc[cut["ratio"].idxmax()]
    about = "least ratio of wikitext's perplexity"
    return [
        *number("chunking.ratio_least", least["ratio"], perplexity, about),
        *number("chunking.ratio_least_chunks", least["chunks"], count, "in how many chunks"),
        *number(
            "chunking.ratio_most", most["ratio"], perplexity, "greatest ratio of that perplexity"
        ),
        *number("chunking.ratio_most_chunks", most["chunks"], count, "in how many chunks"),
    ]


def _times(table: pd.DataFrame) -> list[Number]:
    """The plans that write fastest beside the unchanged model, their chunks run as one: the layers alone, as
    checkpoints are trained, and spread over devices."""
    table = table.dropna(subset=["token_faster"]).reset_index(drop=True)
    on_one, alone = table["devices"] == 1, layers_alone(table)
    fused, loop = table["way"] == "fused", table["way"] == "loop"
    return [
        *_layers_alone(table[on_one & alone & fused], table[on_one & alone & loop]),
        *_as_trained(table[on_one & ~alone & fused]),
        *_spread(table[fused & ~on_one], table[fused & on_one]),
    ]


def _layers_alone(fused: pd.DataFrame, loop: pd.DataFrame) -> list[Number]:
    if fused.empty:
        return []
    best = fused.loc[fused["token_faster"].idxmax()]
    slower = int((fused["token_faster"] < 1).sum())
    slower_loop = int((loop["token_faster"] < 1).sum())
    return [
        *number("chunking.timed_loop", len(loop), count, "the same, one chunk after the other"),
        *number("chunking.slower_loop", slower_loop, count, "of these, slower than unchanged"),
        *number("chunking.timed", len(fused), count, "plans times batch sizes that were timed"),
        *number("chunking.slower", slower, count, "of these, slower than the unchanged model"),
        *number(
            "chunking.fastest", _named(best, "plan", fused), str, "the plan that writes fastest"
        ),
        *number("chunking.fastest_batch", best["batch"], count, "rows of the batch it does so in"),
        *number("chunking.faster", best["token_faster"], fixed(2), "its speed over the unchanged"),
    ]


def _named(best: pd.Series, what: str, table: pd.DataFrame) -> str:
    """By its plan or its variant, and by its model where others were timed too."""
    several = table["model"].nunique() > 1
    return f"{best[what]} of {best['model']}" if several else best[what]


def _as_trained(fused: pd.DataFrame) -> list[Number]:
    if fused.empty:
        return []
    best = fused.loc[fused["token_faster"].idxmax()]
    about = "its speed over the unchanged, with aggregation and adapters"
    return [
        *number("chunking.trained_fastest", _named(best, "variant", fused), str, "so trained"),
        *number("chunking.trained_batch", best["batch"], count, "rows of the batch it is so in"),
        *number("chunking.trained_faster", best["token_faster"], fixed(2), about),
    ]


def _spread(several: pd.DataFrame, one: pd.DataFrame) -> list[Number]:
    """Against the same plan with the same batch, its chunks run as one on one device.

    Each took turns with the unchanged model and not with the other, so speeds over that are compared.
    """
    same = ["model", "variant", "batch"]
    both = several.merge(one[[*same, "token_faster"]], on=same, suffixes=("", "_one"))
    if both.empty:
        return []
    both["over_one"] = both["token_faster"] / both["token_faster_one"]
    best, slower = both.loc[both["over_one"].idxmax()], int((both["over_one"] < 1).sum())
    about = "its speed over that of the same chunks run as one on one device"
    return [
        *number("chunking.spread", len(both), count, "plans, batch sizes and devices over one"),
        *number("chunking.spread_slower", slower, count, "of these, slower than on one device"),
        *number("chunking.spread_fastest", _named(best, "variant", both), str, "what gains most"),
        *number("chunking.spread_batch", best["batch"], count, "rows of the batch it does so in"),
        *number("chunking.spread_devices", best["devices"], count, "devices it does so on"),
        *number("chunking.spread_faster", best["over_one"], fixed(2), about),
    ]


def _pruned(table: pd.DataFrame) -> list[Number]:
    table = table.dropna(subset=["perplexity"])
    whole, cut = table[table["left_out"] == ""], table[table["left_out"] != ""]
    if len(whole) != 1 or cut.empty:  # of several models no single set is the best
        return []
    (whole,), best = whole.itertuples(), cut.loc[cut["perplexity"].idxmin()]
    z = (best["perplexity"] - whole.perplexity) / math.hypot(
        best["perplexity_stderr"], whole.perplexity_stderr
    )
    about = "its perplexity of wikitext"
    return [
        *number("chunking.pruned", len(cut), count, "sets of layers left out"),
        *number("chunking.pruned_best", best["left_out"], str, "the set with the least perplexity"),
        *number("chunking.pruned_perplexity", best["perplexity"], perplexity, about),
        *number("chunking.pruned_whole", whole.perplexity, perplexity, "the same with every layer"),
        *number("chunking.pruned_z", z, fixed(1), "their difference in standard errors"),
    ]


_NUMBERS = {
    SUMMARY.name: _checkpoints,
    STAGES.name: training_numbers,
    ABLATION.name: ablation_numbers,
    PERPLEXITY.name: _untrained,
    LATENCY.name: _times,
    PRUNING.name: _pruned,
    MMLU.name: mmlu_numbers,
}


def chunking_numbers(tables: Tables) -> list[Number]:
    made = [numbers_of(tables[name]) for name, numbers_of in _NUMBERS.items() if name in tables]
    return [number for numbers in made for number in numbers]


def tell_chunking(numbers: Numbers) -> list[str]:
    told = (
        *(_tell_cost(numbers), tell_training(numbers), tell_ablation(numbers)),
        *(tell_mmlu(numbers), _tell_times(numbers)),
    )
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
        several = "," in numbers.value("chunking.pruned_best")
        sentences.append(
            "Of {chunking.pruned} sets of layers, leaving out the"
            f" layer{'s' if several else ''} {{chunking.pruned_best}} costs least: a perplexity of"
            f" {{chunking.pruned_perplexity}}, {compared} the {{chunking.pruned_whole}} of the whole model."
            " It is the best of several on this text, and so flattered by chance."
        )
    return " ".join(sentences)


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
    if "chunking.trained_faster" in numbers:
        text += (
            " Those are the layers alone; with the aggregation and the adapters that are trained,"
            " {chunking.trained_fastest} is the fastest checkpoint, {chunking.trained_faster} times in"
            " batches of {chunking.trained_batch}."
        )
    if "chunking.spread_faster" in numbers:
        text += (
            " Spread over {chunking.spread_devices} devices, {chunking.spread_fastest} in batches of"
            " {chunking.spread_batch} writes {chunking.spread_faster} times as fast as on one with its"
            " chunks run as one, the most of {chunking.spread} combinations, {chunking.spread_slower} of"
            " them slower than on one."
        )
    return text


CHUNKING = Study(
    key="chunking",
    title="What do chunks of layers cost, and save?",
    numbers=chunking_numbers,
    tell=tell_chunking,
)
