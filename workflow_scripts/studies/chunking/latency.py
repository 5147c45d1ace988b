"""Tabulate the speedup of chunked and pruned models at prefill and at generation over the unchanged model."""

from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.chunking.plan_tables import (
    name_variants,
    pivot_metrics,
    plot_lines,
)

NOTE = (
    "Median milliseconds ± half the interquartile range over n rounds, in which the unchanged model and each way of"
    " running the variant alternate, on untrained weights. Variant prune3-5: without layers 3 and 5, counted from 1."
    " Devices: the number that the chunks were spread"
    " over, with a thread for each; the unchanged model always runs on one. Reading: prefill of all prompts, in"
    " batches; writing: one more token for each. Fused: the chunks' layers of one device run as one; loop: one after"
    " the other. Faster: the unchanged model's median over this one's."
)
_METRICS = ["prefill_seconds", "prefill_seconds_spread", "token_seconds", "token_seconds_spread"]
_COLUMNS = ["model", "variant", "batch", "way", "devices", *_METRICS[:2], "prefill_faster"]
_COLUMNS += [*_METRICS[2:], "token_faster", "n"]


def compute_latency(scores: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Compute times and speedup of each variant, execution and batch size over the unchanged model of the same rounds.

    The execution, in the column `way`, is `fused`, `loop`, or `unchanged` for the unchanged model. A model with a
    failed cell has an empty row.
    """
    rounds = ["aggregation", "adapters", "batch", "devices"]
    rows = pivot_metrics(scores, _METRICS, [*rounds, "way"])
    rows = rows.fillna({"devices": 1}).astype({"aggregation": "string", "adapters": "string"})
    same_rounds = [rows[key] for key in ("model", "plan", *rounds)]
    seconds = rows[["prefill_seconds", "token_seconds"]]
    unchanged = seconds.where(rows["way"] == "unchanged").groupby(same_rounds, dropna=False)
    rows[["prefill_faster", "token_faster"]] = unchanged.transform("max") / seconds
    rows = rows.assign(variant=name_variants(rows))
    rows = pd.DataFrame({"model": models}).merge(rows, how="outer", on="model")
    rows = rows.sort_values(["model", "variant", "batch", "devices", "way"])[_COLUMNS]
    return rows.astype(dict.fromkeys(["batch", "devices", "n"], "Int64")).reset_index(drop=True)


_SHOWN = {
    "Model": "{model}",
    "Variant": "{variant}",
    "Batch": "{batch}",
    "Way": "{way}",
    "Devices": "{devices}",
    "Reading": "{prefill_seconds:milliseconds} ± {prefill_seconds_spread:milliseconds}",
    "Reading faster": "{prefill_faster:.2f}",
    "Writing": "{token_seconds:milliseconds} ± {token_seconds_spread:milliseconds}",
    "Writing faster": "{token_faster:.2f}",
    "n": "{n}",
}


def main(scores: Path, table: list[Path], figure: list[Path], models: list[str]) -> None:
    """Write the table and the figure."""
    rows = compute_latency(pd.read_parquet(scores), models)
    title = "Latency of chunked and pruned models"
    write_table(rows, table, title=title, note=NOTE, shown=_SHOWN)
    fused = rows[rows["way"] == "fused"]
    devices = (", devices: " + fused["devices"].astype(str)).where(fused["devices"] > 1, "")
    lines = fused.assign(name=fused["model"].str.split("/").str[-1] + fused["variant"] + devices)
    labels = "batch size (medians of n rounds)", "speedup at generation"
    plot_lines(lines, "batch", "token_faster", figure, "linear", labels)


if "snakemake" in globals():
    run_job(main, snakemake)
