"""Shape the scores of untrained chunk plans for their tables and figures."""

from collections.abc import Sequence

import pandas as pd

from workflow_scripts.core.ids import NO_ADAPTERS, UNCHANGED, USUAL_AGGREGATION

TEXT = "wikitext"  # that pruned and trained models are compared on
USUAL_ADAPTERS = "adapters"  # as wide as the model


def pivot_metrics(
    scores: pd.DataFrame, metrics: Sequence[str], varied: Sequence[str]
) -> pd.DataFrame:
    """Build a row for each model, task, plan and value of `varied`, with a column for each metric and its stderr."""
    keys = ["model", "task", "plan", *varied, "n"]
    scores = scores[scores["metric"].isin(metrics)]
    pivots = [
        scores.pivot(index=keys, columns="metric", values=of).reindex(columns=metrics).astype(float)
        for of in ("value", "stderr")
    ]
    return pivots[0].join(pivots[1].add_suffix("_stderr")).reset_index()


def count_chunks(plan: str) -> int:
    """Count the chunks of a plan: `k4m6-sequential` has 4; the unchanged model is one."""
    return max(1, int(plan[1 : plan.index("m")])) if plan.startswith("k") else 1


def count_layers(plan: str) -> int:
    """Count the layers of each chunk: `k4m6-sequential` has 6."""
    return int(plan[plan.index("m") + 1 :].split("-")[0])


def name_variant(plan: str, aggregation: str | None, adapters: str | None) -> str:
    """Name a plan as its checkpoint is named: the usual aggregation and adapters have no mark."""
    if plan == UNCHANGED or plan.startswith("prune"):
        return f"@{plan}"
    aggregation = None if aggregation == USUAL_AGGREGATION else aggregation
    if pd.isna(adapters):
        adapters = NO_ADAPTERS
    elif adapters == USUAL_ADAPTERS:
        adapters = None
    return "@" + "-".join(mark for mark in (plan, aggregation, adapters) if mark)


def set_doubling_axis(axes, values: pd.Series) -> None:
    """Give the x axis a tick for each value in doublings, and draw a line where y is that of the unchanged model."""
    axes.axhline(1, color="0.6", linewidth=0.8)
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(color="0.9", linewidth=0.6)
