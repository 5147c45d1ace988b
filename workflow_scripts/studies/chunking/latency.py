"""How much faster a chunked model reads and writes than the unchanged one."""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import (
    drawing,
    figure_of,
    model_colours,
    name_missing,
    say_empty,
)
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import millisecond, numbers, with_errors
from workflow_scripts.studies.chunking.frame import (
    USUAL_ADAPTERS,
    chunks_of,
    in_doublings,
    layers_per_chunk,
    measured,
    variants_of,
    with_broken,
)
from workflow_scripts.studies.chunking.requests import MeasuredModels

NOTE = (
    "Median milliseconds ± half the distance between the quartiles over n rounds, in which the"
    " unchanged model and each way of running the plan take turns, nothing trained. Aggregation and"
    " adapters: with residual (or mean) and none, the layers alone; the others are as the checkpoints of the"
    " config are made. Devices: over how many the chunks were spread, one thread for each; the unchanged model always"
    " stands on one. Reading: all prompts, in batches; writing: one more token for each. Fused: the chunks'"
    " layers of one device run as one; loop: one after the other. Faster: the unchanged model's median over"
    " this one's."
)
COLUMNS = columns(
    ("text", "model"),
    ("maybe", "variant plan aggregation adapters"),
    ("whole", "chunks layers_per_chunk batch"),
    ("maybe", "way"),
    ("whole", "devices"),
    (
        "number",
        "prefill_seconds prefill_seconds_spread prefill_faster token_seconds token_seconds_spread token_faster",
    ),
    ("whole", "n"),
)
VARIED = ("aggregation", "adapters", "way", "batch", "devices")


def latency_table(scores: pd.DataFrame, request: MeasuredModels) -> pd.DataFrame:
    rows = timed(scores, request)
    rows = rows[rows["plan"].str.startswith("k")].copy()
    rows["adapters"] = rows["adapters"].astype(object).where(rows["adapters"].notna(), None)
    rows["variant"] = variants_of(rows)
    rows["chunks"] = rows["plan"].map(chunks_of)
    rows["layers_per_chunk"] = rows["plan"].map(layers_per_chunk)
    rows = with_broken(rows, pd.DataFrame({"model": request.models}))
    order = ["model", "layers_per_chunk", "plan", "variant", "batch", "devices", "way"]
    return COLUMNS.typed(rows.sort_values(order))


def timed(scores: pd.DataFrame, request: MeasuredModels) -> pd.DataFrame:
    """All that was timed in the usual number format."""
    usual = scores[scores["precision"].isna()]
    return with_speed_up(measured(usual, "latency", varied=VARIED, request=request.models))


def with_speed_up(rows: pd.DataFrame, *, also: Sequence[str] = ()) -> pd.DataFrame:
    """How many times faster than the unchanged model that took turns with it."""
    rows["devices"] = rows["devices"].fillna(1)
    group = ["model", "plan", "aggregation", "adapters", "batch", "devices", *also]
    seconds = ["prefill_seconds", "token_seconds"]
    unchanged = rows.loc[rows["way"] == "unchanged", [*group, *seconds]]
    rows = rows.merge(unchanged, how="left", on=group, suffixes=("", "_unchanged"))
    for kind in ("prefill", "token"):
        rows[f"{kind}_faster"] = rows[f"{kind}_seconds_unchanged"] / rows[f"{kind}_seconds"]
    return rows


def layers_alone(table: pd.DataFrame) -> pd.Series:
    """Which rows are of a plan with nothing between its layers."""
    return table["aggregation"].isin(["residual", "mean"]) & table["adapters"].isna()


def _show(table: pd.DataFrame, _: MeasuredModels) -> ShownColumns:
    known = table["plan"].notna()
    return {
        "Model": table["model"],
        "Plan": table["plan"],
        "Aggregation": table["aggregation"],
        "Adapters": [
            None if not there else "none" if pd.isna(one) else _ADAPTERS.get(one, one)
            for one, there in zip(table["adapters"], known, strict=True)
        ],
        "Batch": numbers(table["batch"], "d"),
        "Way": table["way"],
        "Devices": numbers(table["devices"], "d"),
        "Reading": milliseconds(table, "prefill"),
        "Reading faster": numbers(table["prefill_faster"], ".2f"),
        "Writing": milliseconds(table, "token"),
        "Writing faster": numbers(table["token_faster"], ".2f"),
        "n": numbers(table["n"], "d"),
    }


_ADAPTERS = {USUAL_ADAPTERS: "full width"}


def milliseconds(table: pd.DataFrame, kind: str) -> list[str | None]:
    seconds = table[f"{kind}_seconds"]
    return with_errors(seconds, table[f"{kind}_seconds_spread"], millisecond)


TABLE = Table(
    name="chunking_latency",
    title="Latency of chunked models",
    note=NOTE,
    columns=COLUMNS,
    asks=MeasuredModels,
    make=lambda inputs, request: latency_table(pd.read_parquet(inputs.one("scores")), request),
    show=_show,
)


def write_latency_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Batch size across, times faster at writing up; a row for each model, a column for each number of devices.

    A colour per plan, a marker per variant of it, solid fused, dashed loop.
    """
    there = table[table["token_faster"].notna() & (table["way"] != "unchanged")]
    models = list(there["model"].unique()) or [""]
    numbers = sorted(there["devices"].unique()) or [1]
    columns = 1 + len(numbers)
    key = math.ceil((there["variant"].nunique() + len(_STYLES)) / columns)
    size = 2 + 4 * len(numbers), 0.4 + 2.6 * len(models) + 0.18 * key
    shape = {"nrows": len(models), "ncols": len(numbers)}
    with drawing(pdf, png, *size, **shape, sharey="row", squeeze=False) as (fig, grid):
        if there.empty:
            say_empty(grid[0, 0], "Nothing was measured: all cells of this figure are broken.")
        else:
            for model, row in zip(models, grid, strict=True):
                for devices, axes in zip(numbers, row, strict=True):
                    _draw(axes, there, model, devices)
                    on = f"on {devices} devices" if devices > 1 else "on one device"
                    axes.set_title(f"{model} {on}" if len(models) > 1 else on)
                row[0].set_ylim(bottom=0)
                row[0].set_ylabel("writing a token, times faster\nthan the unchanged model")
            for axes in grid[-1]:
                axes.set_xlabel("rows in a batch")
            name_missing(grid[0, 0], table.loc[table["way"].isna(), "model"])
            legend = grid[0, 0].get_legend_handles_labels()
            fig.legend(*legend, loc="outside lower center", ncols=columns)


_STYLES = {"fused": "-", "loop": "--"}
_ALONE, _TRAINED = "o", "s^Dv"


def _draw(axes, table: pd.DataFrame, model: str, devices: int) -> None:
    """The lines of one panel; what other panels show has its place in the legend all the same."""
    here = table[(table["model"] == model) & (table["devices"] == devices)]
    colours = model_colours(list(dict.fromkeys(table["plan"])))
    for plan, variants in table.groupby("plan", sort=False):
        markers = itertools.cycle(_TRAINED)
        for variant, rows in variants.groupby("variant", sort=False):
            alone = layers_alone(rows).all()
            look = {"color": colours[plan], "marker": _ALONE if alone else next(markers)}
            look["markersize"] = 4
            name = f"{plan}, layers alone" if alone else f"{variant[1:]}, as trained"
            axes.plot([], [], **look, label=name)
            for way, style in _STYLES.items():
                line = here[(here["variant"] == variant) & (here["way"] == way)]
                axes.plot(line["batch"], line["token_faster"], style, **look)
    for way, style in _STYLES.items():
        axes.plot([], [], style, color="0.3", label=way)
    in_doublings(axes, table["batch"])
    axes.set_axisbelow(True)


FIGURE = figure_of(TABLE, write_latency_figure)
