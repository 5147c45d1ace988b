"""How much faster a chunked model reads and writes than the unchanged one."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import PALETTE, figure_of, name_missing, save_lines
from workflow_scripts.render.frames import Columns
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import millisecond, numbers, with_errors
from workflow_scripts.settings.chunked_tables import MeasuredModels
from workflow_scripts.studies.chunking.frame import (
    chunks_of,
    in_doublings,
    layers_per_chunk,
    measured,
    with_broken,
)

NOTE = (
    "Median milliseconds ± half the distance between the quartiles over n rounds, in which the"
    " unchanged model and each way of running the plan take turns. Reading: all prompts, in batches;"
    " writing: one more token for each. Fused: the chunks' layers run as one; loop: one after the"
    " other. Faster: the unchanged model's median over this one's."
)
COLUMNS = Columns(
    {
        **{"model": "text", "plan": "maybe", "chunks": "whole", "layers_per_chunk": "whole"},
        **{"batch": "whole", "way": "maybe"},
        **{"prefill_seconds": "number", "prefill_seconds_spread": "number"},
        **{"prefill_faster": "number", "token_seconds": "number"},
        **{"token_seconds_spread": "number", "token_faster": "number", "n": "whole"},
    }
)


def latency_table(scores: pd.DataFrame, asked: MeasuredModels) -> pd.DataFrame:
    rows = measured(scores, "latency", varied=("way", "batch"), asked=asked.models)
    rows = with_speed_up(rows[rows["plan"].str.startswith("k")].copy())
    rows["chunks"] = rows["plan"].map(chunks_of)
    rows["layers_per_chunk"] = rows["plan"].map(layers_per_chunk)
    rows = with_broken(rows, pd.DataFrame({"model": asked.models}))
    return COLUMNS.typed(rows.sort_values(["model", "layers_per_chunk", "batch", "way"]))


def with_speed_up(rows: pd.DataFrame) -> pd.DataFrame:
    """How many times faster than the unchanged model that took turns with it."""
    group = ["model", "plan", "batch"]
    unchanged = rows[rows["way"] == "unchanged"].set_index(group)
    keys = pd.MultiIndex.from_frame(rows[group])
    for kind in ("prefill", "token"):
        seconds = unchanged.loc[keys, f"{kind}_seconds"].to_numpy()
        rows[f"{kind}_faster"] = seconds / rows[f"{kind}_seconds"].to_numpy()
    return rows


def _show(table: pd.DataFrame, _: MeasuredModels) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Model": table["model"],
            "Plan": table["plan"],
            "Batch": numbers(table["batch"], "d"),
            "Way": table["way"],
            "Reading": milliseconds(table, "prefill"),
            "Reading faster": numbers(table["prefill_faster"], ".2f"),
            "Writing": milliseconds(table, "token"),
            "Writing faster": numbers(table["token_faster"], ".2f"),
            "n": numbers(table["n"], "d"),
        }
    )


def milliseconds(table: pd.DataFrame, kind: str) -> list[str | None]:
    seconds = table[f"{kind}_seconds"]
    return with_errors(seconds, table[f"{kind}_seconds_spread"], millisecond)


TABLE = Table(
    name="chunking_latency",
    title="Latency of chunked models",
    note=NOTE,
    columns=COLUMNS,
    asks=MeasuredModels,
    make=lambda inputs, asked: latency_table(pd.read_parquet(inputs.one("scores")), asked),
    show=_show,
)


def write_latency_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Batch size across, times faster at writing up: a colour per plan, solid fused, dashed loop."""
    save_lines(table, "token_faster", _draw, pdf, png, ncols=4)


def _draw(axes, table: pd.DataFrame) -> None:
    several = table["model"].nunique() > 1
    there = table[table["token_faster"].notna()]
    for model, ours in there.groupby("model", sort=False):
        for at, plan in enumerate(dict.fromkeys(ours["plan"])):
            for way, style in (("fused", "-"), ("loop", "--")):
                rows = ours[(ours["plan"] == plan) & (ours["way"] == way)]
                axes.plot(
                    rows["batch"],
                    rows["token_faster"],
                    style,
                    color=PALETTE[at % len(PALETTE)],
                    marker="o",
                    markersize=4,
                    label=" · ".join([model] * several + [f"{plan} {way}"]),
                )
    name_missing(axes, table.loc[table["token_faster"].isna(), "model"])
    in_doublings(axes, there["batch"])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows in a batch")
    axes.set_ylabel("writing a token, times faster\nthan the unchanged model")


FIGURE = figure_of(TABLE, write_latency_figure)
