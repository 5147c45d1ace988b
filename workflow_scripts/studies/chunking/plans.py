"""The chunked checkpoints: what they are made of, and how exact they are."""

import json
from collections.abc import Iterable

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.settings.request import Nothing

NOTE = (
    "Plan: layers counted from 0; chunks side by side in brackets. Depth: layers that run one after"
    " the other. New: adapters and aggregation. Largest differences of logits on random tokens:"
    " of the fused way from the plain loop, and from the base model, which is 0 where the plan is"
    " the unchanged one."
)
COLUMNS = columns(
    ("text", "model variant plan"),
    ("whole", "depth layers parameters new_parameters"),
    ("number", "fused_from_loop fused_from_base"),
    ("text", "dtype"),
)


def plans_table(reports: Iterable[dict]) -> pd.DataFrame:
    rows = [
        report
        | {
            "model": report["base"],
            "variant": CheckpointId.parse(report["checkpoint"]).variant,
        }
        for report in reports
    ]
    return COLUMNS.typed(pd.DataFrame(rows))


def _show(table: pd.DataFrame, _: Nothing) -> ShownColumns:
    return {
        "Model": table["model"],
        "Variant": table["variant"],
        "Plan": table["plan"],
        "Depth": numbers(table["depth"], "d"),
        "Parameters": numbers(table["parameters"], ",d"),
        "New": numbers(table["new_parameters"], ",d"),
        "Fused from loop": [f"{d:.1e}" for d in table["fused_from_loop"]],
        "From base": [f"{d:.1e}" if d else "0" for d in table["fused_from_base"]],
    }


TABLE = Table(
    name="chunking_plans",
    title="Chunked checkpoints",
    note=NOTE,
    columns=COLUMNS,
    asks=Nothing,
    make=lambda inputs, _: plans_table(
        json.loads(report.read_text(encoding="utf-8")) for report in inputs["reports"]
    ),
    show=_show,
)
