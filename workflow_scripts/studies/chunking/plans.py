"""List the chunked checkpoints: what they are made of, and how exact they are."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers

NOTE = (
    "Plan: layers counted from 0; chunks in parallel in brackets. Depth: layers that run one after"
    " the other. New: adapters and aggregation. Largest differences of logits on random tokens:"
    " of the fused way from the plain loop, and from the base model, which is 0 where the plan is"
    " the unchanged one."
)
_COLUMNS = ["model", "variant", "plan", "depth", "layers", "parameters", "new_parameters"]
_COLUMNS += ["fused_from_loop", "fused_from_base", "dtype"]


def list_plans(reports: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Build a row from the report of each verified checkpoint."""
    rows = pd.DataFrame(reports)
    variants = [CheckpointId.parse(name).variant for name in rows["checkpoint"]]
    return rows.assign(model=rows["base"], variant=variants)[_COLUMNS]


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    return {
        "Model": table["model"],
        "Variant": table["variant"],
        "Plan": table["plan"],
        "Depth": numbers(table["depth"], "d"),
        "Parameters": numbers(table["parameters"], ",d"),
        "New": numbers(table["new_parameters"], ",d"),
        "Fused from loop": [f"{difference:.1e}" for difference in table["fused_from_loop"]],
        "From base": [f"{diff:.1e}" if diff else "0" for diff in table["fused_from_base"]],
    }


def main(reports: list[Path], table: list[Path]) -> None:
    rows = list_plans(json.loads(report.read_text(encoding="utf-8")) for report in reports)
    write_table(rows, table, title="Chunked checkpoints", note=NOTE, shown=_format_columns(rows))


if "snakemake" in globals():
    run_job(main, snakemake)
