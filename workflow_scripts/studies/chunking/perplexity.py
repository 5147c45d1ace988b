"""How much an untrained model loses when its layers are cut into chunks."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.render.figures import PALETTE, figure_of, name_missing, save_lines
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, perplexity, shown, with_errors
from workflow_scripts.studies.chunking.frame import (
    chunks_of,
    in_doublings,
    measured,
    with_broken,
)
from workflow_scripts.studies.chunking.requests import MeasuredModels
from workflow_scripts.studies.training.stages import text_of

NOTE = (
    "Perplexity ± standard error over n windows of wikitext, or n responses of Magpie, in chunks of"
    " consecutive layers; the same weights throughout, nothing trained. Aggregation mean: the mean"
    " of the chunks' outputs, as published; residual: the shared input plus what every chunk"
    " changed. Ratio: to the unchanged model."
)
WRITTEN = (
    " Written: what each plan itself writes in answer to n prompts, read by the unchanged model."
)
COLUMNS = columns(
    ("text", "model task"),
    ("whole", "chunks"),
    ("maybe", "plan aggregation"),
    ("number", "perplexity perplexity_stderr bits_per_byte ratio"),
    ("whole", "n"),
)


def perplexity_table(scores: pd.DataFrame, request: MeasuredModels) -> pd.DataFrame:
    rows = measured(
        scores, "perplexity", varied=("aggregation", "difficulty"), request=request.models
    )
    rows["task"] = text_of(rows)
    rows = rows[~rows["plan"].str.startswith("prune")].copy()
    rows["chunks"] = rows["plan"].map(chunks_of)
    unchanged = rows[rows["plan"] == UNCHANGED].set_index(["model", "task"])["perplexity"]
    keys = pd.MultiIndex.from_frame(rows[["model", "task"]])
    rows["ratio"] = rows["perplexity"].to_numpy() / unchanged.loc[keys].to_numpy()
    pairs = [(model, text) for model in request.models for text in request.texts]
    rows = with_broken(rows, pd.DataFrame(pairs, columns=["model", "task"]))
    order = ["model", "task", "aggregation", "chunks"]
    return COLUMNS.typed(rows.sort_values(order, na_position="first"))


def _show(table: pd.DataFrame, _: MeasuredModels) -> ShownColumns:
    return {
        "Model": table["model"],
        "Text": table["task"],
        "Chunks": numbers(table["chunks"], "d"),
        "Plan": table["plan"],
        "Aggregation": table["aggregation"],
        "Perplexity": with_errors(table["perplexity"], table["perplexity_stderr"], perplexity),
        "Bits per byte": numbers(table["bits_per_byte"]),
        "Ratio": shown(table["ratio"], perplexity),
        "n": numbers(table["n"], "d"),
    }


TABLE = Table(
    name="chunking_perplexity",
    title="Perplexity of untrained sequential plans",
    note=lambda _, request: NOTE + WRITTEN * ("written" in request.texts),
    columns=COLUMNS,
    asks=MeasuredModels,
    make=lambda inputs, request: perplexity_table(pd.read_parquet(inputs.one("scores")), request),
    show=_show,
)


def write_perplexity_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Chunks across, times the unchanged perplexity up, both in doublings; a line per aggregation."""
    save_lines(table, "ratio", _draw, pdf, png, ncols=2)


def _draw(axes, table: pd.DataFrame) -> None:
    there, broken = table[table["ratio"].notna()], table[table["ratio"].isna()]
    several = table["model"].nunique() > 1
    for model in dict.fromkeys(there["model"]):
        for at, aggregation in enumerate(dict.fromkeys(there["aggregation"].dropna())):
            for line, text in enumerate(dict.fromkeys(there["task"])):
                rows = there[
                    (there["model"] == model)
                    & (there["task"] == text)
                    & ((there["aggregation"] == aggregation) | (there["chunks"] == 1))
                ].sort_values("chunks")
                axes.plot(
                    rows["chunks"],
                    rows["ratio"],
                    color=PALETTE[at % len(PALETTE)],
                    linestyle=("-", "--", ":")[line % 3],
                    marker="os^D"[line % 4],
                    markersize=4,
                    label=" · ".join([model] * several + [aggregation, text]),
                )
    name_missing(axes, broken["model"] + " · " + broken["task"])
    axes.set_yscale("log")
    in_doublings(axes, there["chunks"])
    axes.set_xlabel("chunks of consecutive layers, side by side")
    axes.set_ylabel("perplexity, times the unchanged model's")


FIGURE = figure_of(TABLE, write_perplexity_figure)
