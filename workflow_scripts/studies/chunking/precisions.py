"""How much faster chunked models write in other number formats, and what these cost."""

import pandas as pd

from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, with_errors
from workflow_scripts.studies.chunking.frame import measured, variants_of, with_broken
from workflow_scripts.studies.chunking.latency import VARIED, milliseconds, timed, with_speed_up
from workflow_scripts.studies.chunking.requests import MeasuredModels

NOTE = (
    "Each plan in other number formats of weights and activations than the config's, its chunks run as one on one"
    " device; k0m0 is the model as it is. Median milliseconds to write a token ± half the distance between"
    " the quartiles over n rounds, in which the unchanged model in the usual format takes turns. Faster: its median"
    " over this one's; than usual: that, over the same of the same plan in the usual format. Costs: nats that a"
    " token of the same questions takes more than in the usual format, ± standard error over the questions;"
    " nothing is trained."
)
COLUMNS = columns(
    ("text", "model"),
    ("maybe", "variant plan aggregation adapters precision"),
    ("whole", "batch"),
    (
        "number",
        "token_seconds token_seconds_spread token_faster than_usual nats_more nats_more_stderr",
    ),
    ("whole", "n"),
)
_PLAN = ["model", "plan", "aggregation", "adapters"]


def precisions_table(scores: pd.DataFrame, request: MeasuredModels) -> pd.DataFrame:
    scores = scores[scores["protocol"] == "latency"]
    is_cost = scores["metric"] == "nats_more"
    in_others = scores[scores["precision"].notna() & ~is_cost]
    rows = measured(in_others, "latency", varied=(*VARIED, "precision"), request=request.models)
    rows = with_speed_up(rows, also=["precision"])
    rows = rows[rows["way"] != "unchanged"]
    cost = scores.loc[is_cost, [*_PLAN, "precision", "value", "stderr"]]
    cost = cost.rename(columns={"value": "nats_more", "stderr": "nats_more_stderr"})
    rows = rows.merge(cost, how="left", on=[*_PLAN, "precision"])
    usual = timed(scores, request)
    usual = usual[(usual["way"] == "fused") & (usual["devices"] == 1)]
    usual = usual[[*_PLAN, "batch", "token_faster"]]
    rows = rows.merge(usual, how="left", on=[*_PLAN, "batch"], suffixes=("", "_usual"))
    whole = rows["plan"] == UNCHANGED
    rows["than_usual"] = rows["token_faster"] / rows["token_faster_usual"].mask(whole, 1.0)
    rows["variant"] = variants_of(rows)
    rows = with_broken(rows, pd.DataFrame({"model": request.models}))
    return COLUMNS.typed(rows.sort_values(["model", "precision", "variant", "batch"]))


def _show(table: pd.DataFrame, _: MeasuredModels) -> ShownColumns:
    return {
        "Model": table["model"],
        "Format": table["precision"],
        "Variant": table["variant"].replace(f"@{UNCHANGED}", "as it is"),
        "Batch": numbers(table["batch"], "d"),
        "Writing": milliseconds(table, "token"),
        "Faster": numbers(table["token_faster"], ".2f"),
        "Than usual": numbers(table["than_usual"], ".2f"),
        "Costs": with_errors(table["nats_more"], table["nats_more_stderr"], _nats),
        "n": numbers(table["n"], "d"),
    }


def _nats(value: float) -> str:
    return f"{value:.4f}"


TABLE = Table(
    name="chunking_precisions",
    title="Chunked models in other number formats",
    note=NOTE,
    columns=COLUMNS,
    asks=MeasuredModels,
    make=lambda inputs, request: precisions_table(pd.read_parquet(inputs.one("scores")), request),
    show=_show,
)
