"""Texts of the user's own: bits per byte before and after training on them, by model."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import PALETTE, figure_of, say_empty
from workflow_scripts.render.frames import Columns
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import numbers
from workflow_scripts.settings.request import Nothing
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED, of_kind
from workflow_scripts.studies.ranking.labels import drawing, rule

NOTE = (
    "Of the last tenth of each text, in n windows; lower is better. After: trained on the first eight"
    " tenths, the state chosen on the ninth."
)
COLUMNS = Columns(
    {**of_kind("text", "text model"), **of_kind("number", "before after"), "n": "whole"}
)


def perplexity_table(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a model and text, the best after training first."""
    rows = scores[scores["metric"] == "bits_per_byte"].copy()
    rows["model"] = rows["model"] + rows["variant"].fillna("")
    wide = rows.pivot(index=["task", "model", "n"], columns="protocol", values="value")
    table = wide.reset_index().rename(columns={"task": "text", DIRECT: "before", TRAINED: "after"})
    # Where no model has a record of one protocol, the pivot has no column for it.
    table = table.reindex(columns=list(COLUMNS.named))
    return table.sort_values(["text", "after", "model"], ignore_index=True)


def _show(table: pd.DataFrame, _: Nothing) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Text": table["text"],
            "Model": table["model"],
            "Before": numbers(table["before"]),
            "After": numbers(table["after"]),
            "n": numbers(table["n"], "d"),
        }
    )


TABLE = Table(
    name="harmony_perplexity",
    title="Bits per byte before and after training",
    note=NOTE,
    columns=COLUMNS,
    asks=Nothing,
    make=lambda inputs, _: perplexity_table(pd.read_parquet(inputs.one("scores"))),
    show=_show,
)


def write_perplexity_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    texts = list(dict.fromkeys(table["text"]))
    height = 0.9 + 0.24 * table["text"].value_counts().max() if texts else 2
    columns = max(len(texts), 1)
    size = 1.6 + 3.2 * columns, height
    with drawing(pdf, png, *size, ncols=columns, squeeze=False) as (fig, grid):
        if not texts:
            say_empty(grid[0][0], "No text has a score.")
            return
        for axes, text in zip(grid[0], texts, strict=True):
            rows = table[table["text"] == text].iloc[::-1].reset_index(drop=True)
            axes.hlines(rows.index, rows["after"], rows["before"], color="0.8", linewidth=1.4)
            for when, inside in (("before", "white"), ("after", PALETTE[0])):
                axes.plot(rows[when], rows.index, "o", markerfacecolor=inside, color=PALETTE[0],
                          label=f"{when} training")  # fmt: skip
            axes.set_yticks(rows.index, rows["model"])
            axes.set_title(text, fontsize=9)
            axes.set_xlabel("bits per byte")
            rule(axes, "x")
        fig.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


FIGURE = figure_of(TABLE, write_perplexity_figure)
