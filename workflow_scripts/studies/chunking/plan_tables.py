"""Reshape the scores of untrained chunk plans for tables, and plot them."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.core.ids import DEFAULT_AGGREGATION, NO_ADAPTERS, UNCHANGED
from workflow_scripts.render.figures import (
    draw_grid_lines,
    draw_legend_below,
    draw_placeholder,
    open_figure,
    pick_model_colours,
)

COMPARED_TEXT = "wikitext"  # the text on which pruned and trained models are compared
DEFAULT_ADAPTERS = "adapters"  # as wide as the model


def pivot_metrics(
    scores: pd.DataFrame, metrics: Sequence[str], varied: Sequence[str]
) -> pd.DataFrame:
    """Build a row for each model, task, plan and value of `varied`, with a column for each metric and its stderr."""
    keys = ["model", "task", "plan", *varied, "n"]
    scores = scores[scores["metric"].isin(metrics)]
    values, errors = (
        scores.pivot(index=keys, columns="metric", values=column)
        .reindex(columns=metrics)
        .astype(float)
        for column in ("value", "stderr")
    )
    return values.join(errors.add_suffix("_stderr")).reset_index()


def count_chunks(plans: pd.Series) -> pd.Series:
    """Count the chunks of each plan: 4 for `k4m6-sequential`, 1 for the unchanged model and for pruned layers."""
    return plans.str.extract(r"k(\d+)m", expand=False).fillna("1").astype(int).clip(lower=1)


def name_variants(rows: pd.DataFrame) -> pd.Series:
    """Return the variant name of each plan's checkpoint; default aggregation and adapters are not marked."""
    plans = rows["plan"]
    aggregations = rows["aggregation"]
    adapters = rows["adapters"].fillna(NO_ADAPTERS)
    marks = ("-" + aggregations).mask(aggregations == DEFAULT_AGGREGATION).fillna("")
    marks += ("-" + adapters).mask(adapters == DEFAULT_ADAPTERS, "")
    has_no_chunks = (plans == UNCHANGED) | plans.str.startswith("prune")
    return "@" + plans + marks.mask(has_no_chunks, "")


def plot_lines(
    table: pd.DataFrame, x: str, y: str, files: Sequence[Path], yscale: str, labels: Sequence[str]
) -> None:
    """Plot the column `y`, 1 for the unchanged model, by the column `x` on a log2 axis, with a line for each `name`.

    `labels` are those of the axes.
    """
    table = table.dropna(subset=["name", x, y])
    with open_figure(files, 6.5, 4.2) as (fig, axes):
        if table.empty:
            draw_placeholder(axes, "No value: all cells of this figure failed.")
            return
        colours = pick_model_colours(table["name"])
        for name, line in table.groupby("name", sort=False):
            label = f"{name} (n = {line['n'].max()})"
            axes.plot(line[x], line[y], "o-", markersize=4, color=colours[name], label=label)
        axes.axhline(1, color="0.6", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(table[x], table[x].astype(str))
        axes.minorticks_off()
        axes.set_yscale(yscale)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        draw_grid_lines(axes, "both")
        draw_legend_below(fig, axes, 2)
