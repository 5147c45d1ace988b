"""Reshape the scores of untrained chunk plans for tables and figures."""

from collections.abc import Sequence

import pandas as pd

from workflow_scripts.core.ids import NO_ADAPTERS, UNCHANGED, USUAL_AGGREGATION

TEXT = "wikitext"  # the text on which pruned and trained models are compared
USUAL_ADAPTERS = "adapters"  # as wide as the model


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
    plans, aggregations = rows["plan"], rows["aggregation"]
    adapters = rows["adapters"].fillna(NO_ADAPTERS)
    marks = ("-" + aggregations).mask(aggregations == USUAL_AGGREGATION).fillna("")
    marks += ("-" + adapters).mask(adapters == USUAL_ADAPTERS, "")
    return "@" + plans + marks.mask((plans == UNCHANGED) | plans.str.startswith("prune"), "")


def set_doubling_axis(axes, values: pd.Series) -> None:
    """Set a log2 x axis with a tick at each value, and draw a line at y = 1, the unchanged model."""
    axes.axhline(1, color="0.6", linewidth=0.8)
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid()
