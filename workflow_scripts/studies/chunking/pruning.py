"""Measure what leaving layers out costs in perplexity and saves in time."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.figures import pick_model_colours, save_lines, set_log_axis
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers, perplexity
from workflow_scripts.studies.chunking.frame import TEXT
from workflow_scripts.studies.chunking.latency import compute_speedups, format_seconds
from workflow_scripts.studies.chunking.perplexity import pivot_perplexity

NOTE = (
    "Layers left out, counted from 1; nothing trained. Perplexity ± standard error on wikitext. Time:"
    " median milliseconds ± half the distance between the quartiles for reading all prompts in"
    " batches of the smallest size; faster: than the unchanged model, which took turns."
)
_TIMES = ["prefill_seconds", "prefill_seconds_spread", "prefill_faster"]
_COLUMNS = ["model", "left_out", "perplexity", "perplexity_stderr", "n", *_TIMES]


def compute_pruning(
    perplexities: pd.DataFrame, latencies: pd.DataFrame, models: list[str]
) -> pd.DataFrame:
    """Compute a row for each model and set of layers, and one for the whole model, which leaves out none."""
    costs = pivot_perplexity(perplexities)
    pruned = costs["plan"].str.startswith("prune")
    costs = costs[(costs["task"] == TEXT) & (pruned | (costs["plan"] == UNCHANGED))]
    times = compute_speedups(latencies)
    times = times[times["model"].isin(models) & times["plan"].str.startswith("prune")]
    times = times[(times["way"] != "unchanged") & (times["batch"] == times["batch"].min())]
    rows = pd.DataFrame({"model": models, "plan": UNCHANGED})
    rows = rows.merge(costs, how="outer", on=["model", "plan"])
    rows = rows.merge(times[["model", "plan", *_TIMES]], how="outer", on=["model", "plan"])
    left_out = rows["plan"].str.removeprefix("prune").str.replace("-", ", ")
    rows["left_out"] = left_out.mask(rows["plan"] == UNCHANGED, "none")
    rows = rows.sort_values(["model", "perplexity"])[_COLUMNS]
    return rows.astype({"n": "Int64"}).reset_index(drop=True)


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    return {
        "Model": table["model"],
        "Layers left out": table["left_out"],
        "Perplexity": format_with_errors(
            table["perplexity"], table["perplexity_stderr"], perplexity
        ),
        "n": numbers(table["n"], "d"),
        "Time": format_seconds(table, "prefill"),
        "Faster": numbers(table["prefill_faster"], ".2f"),
    }


def plot_pruning(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Plot the perplexity of each set of layers, the best first, beside that of the unchanged model."""
    height = 1.2 + 0.28 * table["left_out"].nunique()
    save_lines(table, "perplexity", _draw, pdf, png, height=height)


def _draw(axes, table: pd.DataFrame) -> None:
    sets = list(table["left_out"].unique())
    colours = pick_model_colours(list(table["model"].unique()))
    for model, rows in table.groupby("model", sort=False):
        axes.errorbar(
            rows["perplexity"],
            [sets.index(name) for name in rows["left_out"]],
            xerr=2 * rows["perplexity_stderr"],
            fmt="o",
            markersize=4.5,
            color=colours[model],
            label=model if rows["perplexity"].notna().any() else f"{model}: not measured",
        )
        whole = rows["perplexity"][rows["left_out"] == "none"].max()
        axes.axvline(whole, color=colours[model], lw=0.8)
    axes.set_yticks(range(len(sets)), sets)
    axes.invert_yaxis()
    set_log_axis(axes, perplexity)
    axes.set_xlabel("perplexity on wikitext, with two standard errors each way")
    axes.set_ylabel("layers left out")


def main(
    perplexity: Path, latency: Path, table: list[Path], figure: list[Path], models: list[str]
) -> None:
    rows = compute_pruning(pd.read_parquet(perplexity), pd.read_parquet(latency), models)
    write_table(rows, table, title="Pruned models", note=NOTE, shown=_format_columns(rows))
    plot_pruning(rows, *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
