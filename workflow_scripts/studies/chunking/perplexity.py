"""Measure how much an untrained model loses when its layers are cut into chunks."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.figures import label_missing, pick_model_colours, save_lines
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers, perplexity, shown
from workflow_scripts.studies.chunking.frame import count_chunks, pivot_metrics, set_doubling_axis
from workflow_scripts.studies.training.stages import name_texts

NOTE = (
    "Perplexity ± standard error over n windows of wikitext, or n responses of Magpie, in chunks of"
    " consecutive layers; the same weights throughout, nothing trained. Aggregation mean: the mean"
    " of the chunks' outputs, as published; residual: the shared input plus what every chunk"
    " changed. Ratio: to the unchanged model. Written: what each plan itself writes in answer to n prompts,"
    " read by the unchanged model."
)
_METRICS = ["perplexity", "bits_per_byte"]
_COLUMNS = ["model", "task", "chunks", "plan", "aggregation", "perplexity", "perplexity_stderr"]
_COLUMNS += ["bits_per_byte", "ratio", "n"]


def pivot_perplexity(scores: pd.DataFrame) -> pd.DataFrame:
    """Build a row for each model, text and plan; each difficulty of a task is a text of its own."""
    scores = scores[scores["protocol"] == "perplexity"]
    rows = pivot_metrics(scores, _METRICS, ["aggregation", "difficulty"])
    rows["task"] = name_texts(rows)
    return rows


def compute_perplexity(scores: pd.DataFrame, models: list[str], texts: list[str]) -> pd.DataFrame:
    """Compute the perplexity of each sequential plan; a model and text whose cell failed has an empty row."""
    rows = pivot_perplexity(scores)
    rows = rows[~rows["plan"].str.startswith("prune")]
    unchanged = rows[rows["plan"] == UNCHANGED].set_index(["model", "task"])["perplexity"]
    keys = pd.MultiIndex.from_frame(rows[["model", "task"]])
    rows = rows.assign(
        chunks=rows["plan"].map(count_chunks),
        ratio=rows["perplexity"].to_numpy() / unchanged.loc[keys].to_numpy(),
    )
    expected = pd.DataFrame(
        [(model, text) for model in models for text in texts], columns=["model", "task"]
    )
    rows = expected.merge(rows, how="outer", on=["model", "task"])
    order = ["model", "task", "aggregation", "chunks"]
    rows = rows.sort_values(order, na_position="first")[_COLUMNS]
    return rows.astype({"chunks": "Int64", "n": "Int64"}).reset_index(drop=True)


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    return {
        "Model": table["model"],
        "Text": table["task"],
        "Chunks": numbers(table["chunks"], "d"),
        "Plan": table["plan"],
        "Aggregation": table["aggregation"],
        "Perplexity": format_with_errors(
            table["perplexity"], table["perplexity_stderr"], perplexity
        ),
        "Bits per byte": numbers(table["bits_per_byte"]),
        "Ratio": shown(table["ratio"], perplexity),
        "n": numbers(table["n"], "d"),
    }


def plot_perplexity(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Plot the ratio to the unchanged perplexity by the number of chunks, a line for each aggregation and text."""
    save_lines(table, "ratio", _draw, pdf, png, ncols=2)


def _draw(axes, table: pd.DataFrame) -> None:
    measured = table[table["ratio"].notna()]
    lines = measured.dropna(subset=["aggregation"])
    names = lines["aggregation"] + " · " + lines["task"]
    if measured["model"].nunique() > 1:
        names = lines["model"] + " · " + names
    colours = pick_model_colours(list(dict.fromkeys(names)))
    for name, line in lines.groupby(names, sort=False):
        line = line.sort_values("chunks")
        style = {"color": colours[name], "marker": "o", "markersize": 4}
        axes.plot(line["chunks"], line["ratio"], label=name, **style)
    failed = table[table["ratio"].isna()]
    label_missing(axes, failed["model"] + " · " + failed["task"])
    axes.set_yscale("log")
    set_doubling_axis(axes, measured["chunks"])
    axes.set_xlabel("chunks of consecutive layers, in parallel")
    axes.set_ylabel("perplexity, times the unchanged model's")


def main(
    scores: Path, table: list[Path], figure: list[Path], models: list[str], texts: list[str]
) -> None:
    rows = compute_perplexity(pd.read_parquet(scores), models, texts)
    title = "Perplexity of untrained sequential plans"
    write_table(rows, table, title=title, note=NOTE, shown=_format_columns(rows))
    plot_perplexity(rows, *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
