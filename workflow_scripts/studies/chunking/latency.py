"""Measure how much faster a chunked model reads and writes than the unchanged one."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import (
    draw_placeholder,
    drawing,
    label_missing,
    legend_below,
    pick_model_colours,
)
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, millisecond, numbers
from workflow_scripts.studies.chunking.frame import (
    USUAL_ADAPTERS,
    count_chunks,
    count_layers,
    name_variant,
    pivot_metrics,
    set_doubling_axis,
)

NOTE = (
    "Median milliseconds ± half the distance between the quartiles over n rounds, in which the"
    " unchanged model and each way of running the plan take turns, nothing trained. Aggregation and"
    " adapters: with residual (or mean) and none, the layers alone; the others are as the checkpoints of the"
    " config are made. Devices: over how many the chunks were spread, one thread for each; the unchanged model always"
    " stands on one. Reading: all prompts, in batches; writing: one more token for each. Fused: the chunks'"
    " layers of one device run as one; loop: one after the other. Faster: the unchanged model's median over"
    " this one's."
)
_METRICS = ["prefill_seconds", "prefill_seconds_spread", "token_seconds", "token_seconds_spread"]
_COLUMNS = ["model", "variant", "plan", "aggregation", "adapters", "chunks", "layers_per_chunk"]
_COLUMNS += ["batch", "way", "devices"]
_COLUMNS += ["prefill_seconds", "prefill_seconds_spread", "prefill_faster"]
_COLUMNS += ["token_seconds", "token_seconds_spread", "token_faster", "n"]
_COUNTS = ["chunks", "layers_per_chunk", "batch", "devices", "n"]
_STYLES = {"fused": "-", "loop": "--"}


def compute_speedups(scores: pd.DataFrame) -> pd.DataFrame:
    """Compute how many times faster each plan, way and batch is than the unchanged model that took turns with it."""
    varied = ["aggregation", "adapters", "way", "batch", "devices"]
    rows = pivot_metrics(scores[scores["protocol"] == "latency"], _METRICS, varied)
    rows["devices"] = rows["devices"].fillna(1)
    rows["adapters"] = rows["adapters"].astype(object).where(rows["adapters"].notna(), None)
    group = ["model", "plan", "aggregation", "adapters", "batch", "devices"]
    seconds = ["prefill_seconds", "token_seconds"]
    unchanged = rows.loc[rows["way"] == "unchanged", [*group, *seconds]]
    rows = rows.merge(unchanged, how="left", on=group, suffixes=("", "_unchanged"))
    for kind in ("prefill", "token"):
        rows[f"{kind}_faster"] = rows[f"{kind}_seconds_unchanged"] / rows[f"{kind}_seconds"]
    shapes = zip(rows["plan"], rows["aggregation"], rows["adapters"], strict=True)
    rows["variant"] = [name_variant(*shape) for shape in shapes]
    return rows


def compute_latency(scores: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Compute the times of all plans with chunks; a model whose cell failed has an empty row."""
    rows = compute_speedups(scores)
    rows = rows[rows["plan"].str.startswith("k")]
    rows = rows.assign(
        chunks=rows["plan"].map(count_chunks), layers_per_chunk=rows["plan"].map(count_layers)
    )
    rows = pd.DataFrame({"model": models}).merge(rows, how="outer", on="model")
    order = ["model", "layers_per_chunk", "plan", "variant", "batch", "devices", "way"]
    rows = rows.sort_values(order)[_COLUMNS].reset_index(drop=True)
    return rows.astype(dict.fromkeys(_COUNTS, "Int64"))


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    adapters = table["adapters"].fillna("none").replace(USUAL_ADAPTERS, "full width")
    return {
        "Model": table["model"],
        "Plan": table["plan"],
        "Aggregation": table["aggregation"],
        "Adapters": adapters.where(table["plan"].notna()),
        "Batch": numbers(table["batch"], "d"),
        "Way": table["way"],
        "Devices": numbers(table["devices"], "d"),
        "Reading": format_seconds(table, "prefill"),
        "Reading faster": numbers(table["prefill_faster"], ".2f"),
        "Writing": format_seconds(table, "token"),
        "Writing faster": numbers(table["token_faster"], ".2f"),
        "n": numbers(table["n"], "d"),
    }


def format_seconds(table: pd.DataFrame, kind: str) -> list[str | None]:
    """Format the median and the spread in milliseconds."""
    return format_with_errors(
        table[f"{kind}_seconds"], table[f"{kind}_seconds_spread"], millisecond
    )


def plot_latency(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Plot the speedup at writing by batch size: a line for each variant and way, a panel for each device count."""
    rows = table[table["token_faster"].notna() & (table["way"] != "unchanged")]
    devices = sorted(rows["devices"].unique()) or [1]
    size = 2 + 4 * len(devices), 4.2
    with drawing([pdf, png], *size, ncols=len(devices), sharey=True, squeeze=False) as (fig, grid):
        if rows.empty:
            draw_placeholder(
                grid[0, 0], "Nothing was measured: all cells of this figure are broken."
            )
            return
        several = rows["model"].nunique() > 1
        names = rows["model"] + rows["variant"] if several else rows["variant"]
        colours = pick_model_colours(list(dict.fromkeys(names)))
        for count, axes in zip(devices, grid[0], strict=True):
            for (name, way), lines in rows.groupby([names, "way"], sort=False):
                line = lines[lines["devices"] == count]
                style = {"color": colours[name], "marker": "o", "markersize": 4}
                axes.plot(
                    line["batch"],
                    line["token_faster"],
                    _STYLES[way],
                    label=f"{name}, {way}",
                    **style,
                )
            axes.set_title(f"devices: {count}")
            axes.set_xlabel("rows in a batch")
            set_doubling_axis(axes, rows["batch"])
        grid[0, 0].set_ylim(bottom=0)
        grid[0, 0].set_ylabel("writing a token, times faster\nthan the unchanged model")
        label_missing(grid[0, 0], table.loc[table["way"].isna(), "model"])
        legend_below(fig, grid[0, 0], 1 + len(devices))


def main(scores: Path, table: list[Path], figure: list[Path], models: list[str]) -> None:
    rows = compute_latency(pd.read_parquet(scores), models)
    title = "Latency of chunked models"
    write_table(rows, table, title=title, note=NOTE, shown=_format_columns(rows))
    plot_latency(rows, *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
