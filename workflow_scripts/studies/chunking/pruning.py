"""What leaving layers out costs in perplexity and saves in time."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.figures import PALETTE, figure_of, save_lines
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, perplexity, with_errors
from workflow_scripts.studies.chunking.frame import TEXT, measured, with_broken
from workflow_scripts.studies.chunking.latency import milliseconds, timed
from workflow_scripts.studies.chunking.requests import MeasuredModels

NOTE = (
    "Layers left out, counted from 1; nothing trained. Perplexity ± standard error on wikitext. Time:"
    " median milliseconds ± half the distance between the quartiles for reading all prompts in"
    " batches of the smallest size; faster: than the unchanged model, which took turns."
)
COLUMNS = columns(
    ("text", "model left_out"),
    ("number", "perplexity perplexity_stderr"),
    ("whole", "n"),
    ("number", "prefill_seconds prefill_seconds_spread prefill_faster"),
)


def pruning_table(
    perplexities: pd.DataFrame, latencies: pd.DataFrame, request: MeasuredModels
) -> pd.DataFrame:
    """One row per model and set of layers, and of each the whole model, which leaves out none."""
    cost = measured(
        perplexities, "perplexity", varied=("aggregation", "difficulty"), request=request.models
    )
    pruned = cost["plan"].str.startswith("prune")
    cost = cost[(cost["task"] == TEXT) & (pruned | (cost["plan"] == UNCHANGED))]
    time = timed(latencies, request)
    time = time[time["model"].isin(request.models) & time["plan"].str.startswith("prune")]
    time = time[(time["way"] != "unchanged") & (time["batch"] == time["batch"].min())]
    rows = with_broken(cost, pd.DataFrame({"model": request.models, "plan": UNCHANGED}))
    time = time.drop(columns=["task", "n", "aggregation"])
    rows = rows.merge(time, how="outer", on=["model", "plan"])
    rows["left_out"] = rows["plan"].map(_left_out)
    return COLUMNS.typed(rows.sort_values(["model", "perplexity"]))


def _left_out(plan: str) -> str:
    """`prune19-21-23` leaves out 19, 21, 23."""
    return "" if plan == UNCHANGED else plan.removeprefix("prune").replace("-", ", ")


def _show(table: pd.DataFrame, _: MeasuredModels) -> ShownColumns:
    return {
        "Model": table["model"],
        "Layers left out": table["left_out"].replace("", "none"),
        "Perplexity": with_errors(table["perplexity"], table["perplexity_stderr"], perplexity),
        "n": numbers(table["n"], "d"),
        "Time": milliseconds(table, "prefill"),
        "Faster": numbers(table["prefill_faster"], ".2f"),
    }


TABLE = Table(
    name="chunking_pruning",
    title="Pruned models",
    note=NOTE,
    columns=COLUMNS,
    asks=MeasuredModels,
    make=lambda inputs, request: pruning_table(
        pd.read_parquet(inputs.one("perplexity")), pd.read_parquet(inputs.one("latency")), request
    ),
    show=_show,
)


def write_pruning_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """One line per set of layers, best first: how many times the unchanged perplexity."""
    table = table.assign(left_out=table["left_out"].replace("", "none"))
    height = 1.2 + 0.28 * table["left_out"].nunique()
    save_lines(table, "perplexity", _draw, pdf, png, height=height)


def _draw(axes, table: pd.DataFrame) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    sets = list(dict.fromkeys(table["left_out"]))
    for at, (model, rows) in enumerate(table.groupby("model", sort=False)):
        colour = PALETTE[at % len(PALETTE)]
        there = rows["perplexity"].notna().any()
        axes.errorbar(
            rows["perplexity"],
            [sets.index(name) + 0.12 * at for name in rows["left_out"]],
            xerr=2 * rows["perplexity_stderr"],
            fmt="o",
            markersize=4.5,
            color=colour,
            label=model if there else f"{model}: not measured",
        )
        if there:
            unchanged = rows.loc[rows["left_out"] == "none", "perplexity"]
            axes.axvline(unchanged.iloc[0], color=colour, linewidth=0.8)
    axes.set_yticks(range(len(sets)), sets)
    axes.set_ylim(len(sets) - 0.4, -0.6)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(MaxNLocator(6) if high < 4 * low else LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda value, _: perplexity(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("perplexity on wikitext, with two standard errors each way")
    axes.set_ylabel("layers left out")
    axes.grid(axis="x", which="both", color="0.9", linewidth=0.6)


FIGURE = figure_of(TABLE, write_pruning_figure)
