"""Bits per byte of each text, as the models are and after training on it: how well each model knows the text."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_placeholder, drawing, legend_below, rule
from workflow_scripts.render.tables import write_table
from workflow_scripts.render.text import numbers
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.texts import read_bits

_NOTE_OF_RUN = (
    "Of the last tenth of each text, in n windows; lower is better. After training: on the first eight"
    " tenths, the state chosen on the ninth."
)


def tabulate_bits(bits: pd.DataFrame, settings: GridSettings) -> pd.DataFrame:
    """Tabulate a row per text and model, those of fewest bits under the last protocol first."""
    grid, present = settings.grid, set(bits["protocol"])
    # All cells of a protocol of texts may be broken.
    protocols = [
        key
        for key, one in grid.protocols.items()
        if key in present or key == grid.baseline or (one.after_training and not one.scores_of)
    ]
    wide = bits.pivot(index=["task", "label"], columns="protocol", values="value")
    table = wide.reindex(columns=protocols)
    table["n"] = bits.groupby(["task", "label"])["n"].max()
    table = table.rename_axis(index=["text", "model"], columns=None).reset_index()
    order = list(grid.texts or sorted(set(table["text"])))
    table = table.assign(place=table["text"].map(order.index))
    table = table.sort_values(["place", protocols[-1], "model"], ignore_index=True)
    return table[["text", "model", "n", *protocols]]


def plot_bits(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a panel per text, a line per model, in the order of the table, of the first 70; a mark for each protocol."""
    grid, texts = settings.grid, list(dict.fromkeys(table["text"]))
    protocols = {key: name for key, name in grid.names.items() if key in table}
    most = min(int(table["text"].value_counts().max()) if texts else 5, plots.NAMED)
    panels = {"ncols": max(len(texts), 1), "squeeze": False}
    with drawing(files, 1.6 + 3.2 * panels["ncols"], 1.1 + 0.15 * most, **panels) as (fig, (row,)):
        if not texts:
            draw_placeholder(row[0], "No text has a score.")
            return
        for axes, text in zip(row, texts, strict=True):
            rows = table[table["text"] == text].head(most)
            down, ends = np.arange(len(rows)), rows[list(protocols)]
            axes.hlines(down, ends.min(axis=1), ends.max(axis=1), color="0.8", linewidth=1.4)
            for key, name in protocols.items():
                colour, marker = plots.choose_look(key, grid)
                axes.plot(rows[key], down, marker, color=colour, markersize=4, label=name)
            axes.set_yticks(down, rows["model"].str.split("/").str[-1], fontsize=6)
            axes.set_ylim(len(rows) - 0.3, -0.7)
            axes.set_title(grid.texts.get(text, text), fontsize=9)
            axes.set_xlabel("bits per byte")
            rule(axes, "x")
        legend_below(fig, row[0], 3)


def main(
    texts: list[Path], table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    of_grid = GridSettings.of(settings)
    grid = of_grid.grid
    bits = tabulate_bits(read_bits(texts, of_grid), of_grid)
    lacking = f" Left out: {grid.lacking_texts}." if grid.lacking_texts else ""
    of_others = f"Of {grid.about_texts}, as they were released; lower is better.{lacking}"
    shown = {
        "Text": bits["text"].replace(grid.texts),
        "Model": bits["model"],
        **{name: numbers(bits[key]) for key, name in grid.names.items() if key in bits},
        **({"n": numbers(bits["n"], ".0f")} if bits["n"].notna().any() else {}),
    }
    title = frame.make_title("Bits per byte before and after training", of_grid)
    note = _NOTE_OF_RUN if grid.run else of_others
    write_table(bits, table, title=title, note=note, shown=shown)
    plot_bits(bits, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
