"""Tabulate what pruning layers costs in perplexity and gains in speed."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.chunking.latency import compute_speedups
from workflow_scripts.studies.chunking.perplexity import pivot_perplexity

NOTE = (
    "Pruned layers, counted from 1, without training; the best set first. Perplexity ± standard error on wikitext, over"
    " n windows. Time: median milliseconds ± half the interquartile range of the prefill of all prompts in the smallest"
    " batch; faster: than the unchanged model, which alternated with it."
)
_TIMES = ["prefill_seconds", "prefill_seconds_spread", "prefill_faster"]
_COLUMNS = ["model", "left_out", "perplexity", "perplexity_stderr", "n", *_TIMES]


def compute_pruning(
    perplexities: pd.DataFrame, latencies: pd.DataFrame, models: list[str]
) -> pd.DataFrame:
    """Compute a row for each model and set of pruned layers, and one for the unchanged model, which prunes none."""
    keys = ["model", "plan"]
    costs = pivot_perplexity(perplexities)
    pruned = costs["plan"].str.startswith("prune")
    costs = costs[(costs["task"] == TEXT) & (pruned | (costs["plan"] == UNCHANGED))]
    times = compute_speedups(latencies)
    times = times[times["model"].isin(models) & times["plan"].str.startswith("prune")]
    times = times[(times["way"] != "unchanged") & (times["batch"] == times["batch"].min())]
    rows = pd.DataFrame({"model": models, "plan": UNCHANGED})
    rows = rows.merge(costs, how="outer", on=keys)
    rows = rows.merge(times[[*keys, *_TIMES]], how="outer", on=keys)
    left_out = rows["plan"].str.removeprefix("prune").str.replace("-", ", ")
    rows["left_out"] = left_out.mask(rows["plan"] == UNCHANGED, "none")
    rows = rows.sort_values(["model", "perplexity"])[_COLUMNS]
    return rows.astype({"n": "Int64"}).reset_index(drop=True)


_SHOWN = {
    "Model": "{model}",
    "Layers left out": "{left_out}",
    "Perplexity": "{perplexity:perplexity} ± {perplexity_stderr:perplexity}",
    "n": "{n}",
    "Time": "{prefill_seconds:milliseconds} ± {prefill_seconds_spread:milliseconds}",
    "Faster": "{prefill_faster:.2f}",
}


def main(perplexity: Path, latency: Path, table: list[Path], models: list[str]) -> None:
    """Write the table."""
    rows = compute_pruning(pd.read_parquet(perplexity), pd.read_parquet(latency), models)
    write_table(rows, table, title="Pruned models", note=NOTE, shown=_SHOWN)


if "snakemake" in globals():
    run_job(main, snakemake)
