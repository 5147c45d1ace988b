"""The numbers of the chunking study: what cutting layers into chunks costs and saves.

Its chapter of the report holds what training and MMLU have to tell of the same checkpoints too.
"""

import math
from pathlib import Path

import pandas as pd

from workflow_scripts.render.chapter import Study
from workflow_scripts.render.numbers import Values
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.chunking.latency import layers_alone
from workflow_scripts.studies.mmlu.numbers import mmlu_numbers
from workflow_scripts.studies.training.numbers import training_numbers


def _checkpoints(table: pd.DataFrame) -> Values:
    return {
        "chunking.models": table["model"].nunique(),
        "chunking.checkpoints": (table["variant"] != "").sum(),
    }


def _untrained(table: pd.DataFrame) -> Values:
    cut = table[(table["chunks"] > 1) & (table["task"] == TEXT)]
    values: Values = {}
    for key, rows in (("least", cut.nsmallest(1, "ratio")), ("most", cut.nlargest(1, "ratio"))):
        for row in rows.itertuples():
            values[f"chunking.ratio_{key}"] = row.ratio
            values[f"chunking.ratio_{key}_chunks"] = row.chunks
    return values


def _times(table: pd.DataFrame) -> Values:
    """The plans that write fastest beside the unchanged model, their chunks run as one: the layers alone, as
    checkpoints are trained, and spread over devices."""
    table = table.dropna(subset=["token_faster"]).reset_index(drop=True)
    on_one, alone = table["devices"] == 1, layers_alone(table)
    fused, loop = table["way"] == "fused", table["way"] == "loop"
    return {
        **_layers_alone(table[on_one & alone & fused], table[on_one & alone & loop]),
        **_as_trained(table[on_one & ~alone & fused]),
        **_spread(table[fused & ~on_one], table[fused & on_one]),
    }


def _layers_alone(fused: pd.DataFrame, loop: pd.DataFrame) -> Values:
    if fused.empty:
        return {}
    best = fused.loc[fused["token_faster"].idxmax()]
    return {
        "chunking.timed_loop": len(loop),
        "chunking.slower_loop": (loop["token_faster"] < 1).sum(),
        "chunking.timed": len(fused),
        "chunking.slower": (fused["token_faster"] < 1).sum(),
        "chunking.fastest": _named(best, "plan", fused),
        "chunking.fastest_batch": best["batch"],
        "chunking.faster": best["token_faster"],
    }


def _named(best: pd.Series, what: str, table: pd.DataFrame) -> str:
    """By its plan or its variant, and by its model where others were timed too."""
    several = table["model"].nunique() > 1
    return f"{best[what]} of {best['model']}" if several else best[what]


def _as_trained(fused: pd.DataFrame) -> Values:
    if fused.empty:
        return {}
    best = fused.loc[fused["token_faster"].idxmax()]
    return {
        "chunking.trained_fastest": _named(best, "variant", fused),
        "chunking.trained_batch": best["batch"],
        "chunking.trained_faster": best["token_faster"],
    }


def _spread(several: pd.DataFrame, one: pd.DataFrame) -> Values:
    """Against the same plan with the same batch, its chunks run as one on one device.

    Each took turns with the unchanged model and not with the other, so speeds over that are compared.
    """
    same = ["model", "variant", "batch"]
    both = several.merge(one[[*same, "token_faster"]], on=same, suffixes=("", "_one"))
    if both.empty:
        return {}
    both["over_one"] = both["token_faster"] / both["token_faster_one"]
    best = both.loc[both["over_one"].idxmax()]
    return {
        "chunking.spread": len(both),
        "chunking.spread_slower": (both["over_one"] < 1).sum(),
        "chunking.spread_fastest": _named(best, "variant", both),
        "chunking.spread_batch": best["batch"],
        "chunking.spread_devices": best["devices"],
        "chunking.spread_faster": best["over_one"],
    }


def _pruned(table: pd.DataFrame) -> Values:
    table = table.dropna(subset=["perplexity"]).fillna({"left_out": ""})
    whole, cut = table[table["left_out"] == ""], table[table["left_out"] != ""]
    if len(whole) != 1 or cut.empty:  # of several models no single set is the best
        return {}
    (whole,), best = whole.itertuples(), cut.loc[cut["perplexity"].idxmin()]
    error = math.hypot(best["perplexity_stderr"], whole.perplexity_stderr)
    return {
        "chunking.pruned": len(cut),
        "chunking.pruned_best": best["left_out"],
        "chunking.pruned_perplexity": best["perplexity"],
        "chunking.pruned_whole": whole.perplexity,
        "chunking.pruned_z": (best["perplexity"] - whole.perplexity) / error,
    }


CHUNKING = Study(
    key="chunking",
    prose=Path(__file__).with_name("chapter.md.j2"),
    computed=(
        ("chunking_summary", _checkpoints),
        ("training_stages", training_numbers),
        ("chunking_perplexity", _untrained),
        ("chunking_latency", _times),
        ("chunking_pruning", _pruned),
        ("mmlu_by_subject", mmlu_numbers),
    ),
)
