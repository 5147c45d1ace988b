"""Tabulate the perplexity of untrained models with layers in parallel chunks, or without some layers."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.plan_tables import count_chunks, pivot_metrics, plot_lines
from workflow_scripts.studies.training.stages import name_texts

NOTE = (
    "Perplexity ± standard error over n windows of wikitext, or n responses of Magpie, zero-shot, with consecutive"
    " layers in parallel chunks; the same weights throughout, no training. Aggregation mean: the mean of the chunks'"
    " outputs, as published; residual: the shared input plus the sum of the chunks' changes. Ratio: to the unchanged"
    " model. Plan prune3-5: without layers 3 and 5, counted from 1. Written: the answers of each plan to n prompts,"
    " scored by the unchanged model."
)
_METRICS = ["perplexity", "bits_per_byte"]
_COLUMNS = ["model", "task", "chunks", "plan", "aggregation", "perplexity", "perplexity_stderr"]
_COLUMNS += ["bits_per_byte", "ratio", "n"]


def compute_perplexity(scores: pd.DataFrame, models: list[str], texts: list[str]) -> pd.DataFrame:
    """Compute the perplexity of each plan; a failed cell (model and text) has an empty row."""
    keys = ["model", "task"]
    rows = pivot_metrics(scores, _METRICS, ["aggregation", "difficulty"])
    rows = rows.assign(task=name_texts(rows))
    unchanged = rows["perplexity"].where(rows["plan"] == UNCHANGED)
    unchanged = unchanged.groupby([rows[key] for key in keys]).transform("max")
    rows = rows.assign(ratio=rows["perplexity"] / unchanged, chunks=count_chunks(rows["plan"]))
    expected = pd.MultiIndex.from_product([models, texts], names=keys).to_frame(index=False)
    rows = expected.merge(rows, how="outer", on=keys)
    order = [*keys, "aggregation", "chunks", "perplexity"]
    rows = rows.sort_values(order, na_position="first")[_COLUMNS]
    return rows.astype({"chunks": "Int64", "n": "Int64"}).reset_index(drop=True)


_SHOWN = {
    "Model": "{model}",
    "Text": "{task}",
    "Chunks": "{chunks}",
    "Plan": "{plan}",
    "Aggregation": "{aggregation}",
    "Perplexity": "{perplexity:perplexity} ± {perplexity_stderr:perplexity}",
    "Bits per byte": "{bits_per_byte:.3f}",
    "Ratio": "{ratio:perplexity}",
    "n": "{n}",
}


def main(
    scores: Path, table: list[Path], figure: list[Path], models: list[str], texts: list[str]
) -> None:
    """Write the table and the figure."""
    rows = compute_perplexity(pd.read_parquet(scores), models, texts)
    title = "Perplexity of untrained plans"
    write_table(rows, table, title=title, note=NOTE, shown=_SHOWN)
    names = rows["model"].str.split("/").str[-1]
    lines = rows.assign(name=names + " · " + rows["aggregation"] + " · " + rows["task"])
    labels = (
        "chunks of consecutive layers, in parallel",
        "perplexity relative to the unchanged model",
    )
    plot_lines(lines, "chunks", "ratio", figure, "log", labels)


if "snakemake" in globals():
    run_job(main, snakemake)
