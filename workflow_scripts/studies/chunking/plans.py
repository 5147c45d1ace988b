"""The chunked checkpoints: what they are made of, and how exact they are."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import write_table

TITLE = "Chunked checkpoints"
NOTE = (
    "Plan: layers counted from 0; chunks side by side in brackets. Depth: layers that run one after"
    " the other. New: adapters and aggregation. Largest differences of logits on random tokens:"
    " of the fused way from the plain loop, and from the base model, which is 0 where the plan is"
    " the unchanged one."
)


def plans_table(reports: list[dict]) -> pd.DataFrame:
    rows = [
        {
            "model": report["base"],
            "variant": CheckpointId.parse(report["checkpoint"]).variant,
            **{
                key: report[key]
                for key in (
                    *("plan", "depth", "layers", "parameters", "new_parameters"),
                    *("fused_from_loop", "fused_from_base", "dtype"),
                )
            },
        }
        for report in reports
    ]
    return pd.DataFrame(rows)


def write_plans_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Model": table["model"],
            "Variant": table["variant"],
            "Plan": table["plan"],
            "Depth": [f"{d}" for d in table["depth"]],
            "Parameters": [f"{p:,}" for p in table["parameters"]],
            "New": [f"{p:,}" for p in table["new_parameters"]],
            "Fused from loop": [f"{d:.1e}" for d in table["fused_from_loop"]],
            "From base": [f"{d:.1e}" if d else "0" for d in table["fused_from_base"]],
        }
    )
