"""List the chunked checkpoints: their plans, sizes and numerical exactness."""

import json
from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import write_table

NOTE = (
    "Plan: layers counted from 0; chunks in parallel in brackets. Depth: layers that run one after"
    " the other. New: adapters and aggregation. Largest differences of logits on random tokens:"
    " of the fused execution from the plain loop, and from the base model, which is 0 where the plan is"
    " the unchanged model."
)
_COLUMNS = ["model", "variant", "plan", "depth", "parameters", "new_parameters"]
_COLUMNS += ["fused_from_loop", "fused_from_base"]
_SHOWN = {
    "Model": "{model}",
    "Variant": "{variant}",
    "Plan": "{plan}",
    "Depth": "{depth}",
    "Parameters": "{parameters:,d}",
    "New": "{new_parameters:,d}",
    "Fused from loop": "{fused_from_loop:.2g}",
    "From base": "{fused_from_base:.2g}",
}


def main(reports: list[Path], table: list[Path]) -> None:
    """Write a row from the report of each verified checkpoint."""
    rows = pd.DataFrame(json.loads(path.read_text(encoding="utf-8")) for path in reports)
    variants = [CheckpointId.parse(name).variant for name in rows["checkpoint"]]
    rows = rows.assign(model=rows["base"], variant=variants)[_COLUMNS]
    write_table(rows, table, title="Chunked checkpoints", note=NOTE, shown=_SHOWN)


if "snakemake" in globals():
    run_job(main, snakemake)
