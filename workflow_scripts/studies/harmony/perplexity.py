"""Texts of the user's own: bits per byte before and after training on them, by model."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import PALETTE, figure, save_both
from workflow_scripts.render.tables import write_table

TITLE = "Bits per byte before and after training"
NOTE = (
    "Of the last tenth of each text, in n windows; lower is better. After: trained on the first eight"
    " tenths, the state chosen on the ninth."
)


def perplexity_table(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a model and text, the best after training first."""
    rows = scores[scores["metric"] == "bits_per_byte"].copy()
    rows["model"] = rows["model"] + rows["variant"].fillna("")
    wide = rows.pivot(index=["task", "model", "n"], columns="protocol", values="value")
    table = wide.reset_index().rename(
        columns={"task": "text", "direct": "before", "train_before_test": "after"}
    )
    return table.sort_values(["text", "after", "model"], ignore_index=True)[
        ["text", "model", "before", "after", "n"]
    ]


def write_perplexity_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    def show(table: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "Text": table["text"],
                "Model": table["model"],
                "Before": [f"{value:.3f}" for value in table["before"]],
                "After": [f"{value:.3f}" for value in table["after"]],
                "n": [f"{n}" for n in table["n"]],
            }
        )

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)


def write_perplexity_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    texts = list(dict.fromkeys(table["text"]))
    height = 0.9 + 0.24 * table.groupby("text").size().max()
    with figure(width=1.6 + 3.2 * len(texts), height=height, ncols=len(texts), squeeze=False) as (
        fig,
        grid,
    ):
        for axes, text in zip(grid[0], texts, strict=True):
            rows = table[table["text"] == text].iloc[::-1].reset_index(drop=True)
            axes.hlines(rows.index, rows["after"], rows["before"], color="0.8", linewidth=1.4)
            axes.plot(
                rows["before"],
                rows.index,
                "o",
                markerfacecolor="white",
                color=PALETTE[0],
                label="before training",
            )
            axes.plot(rows["after"], rows.index, "o", color=PALETTE[0], label="after training")
            axes.set_yticks(rows.index, rows["model"])
            axes.set_title(text, fontsize=9)
            axes.set_xlabel("bits per byte")
            axes.grid(axis="x", color="0.9", linewidth=0.6)
            axes.set_axisbelow(True)
        fig.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        save_both(fig, pdf, png)
