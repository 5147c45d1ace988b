"""The rows of the chunking and latency studies, by plan and what was varied beside it."""

from collections.abc import Sequence

import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import NO_ADAPTERS, UNCHANGED, USUAL_AGGREGATION

TEXT = "wikitext"  # that pruned and trained models are compared on
USUAL_ADAPTERS = "adapters"  # as wide as the model
_METRICS = {
    "perplexity": ("perplexity", "bits_per_byte"),
    "latency": (
        *("prefill_seconds", "prefill_seconds_spread"),
        *("token_seconds", "token_seconds_spread"),
    ),
}


def measured(
    scores: pd.DataFrame, protocol: str, *, varied: tuple[str, ...], request: Sequence[str]
) -> pd.DataFrame:
    """One row per model, task, plan and what was varied; a column per metric and its standard error.

    `asked` are the models: where there are some and no row, their cells are broken.
    """
    rows = scores[scores["protocol"] == protocol]
    if rows.empty and not request:
        raise UserError(
            f"The scores hold no {protocol} of any plan; the rule measure_{protocol} makes them."
        )
    keys, metrics = ["model", "task", "plan", *varied, "n"], list(_METRICS[protocol])
    values = rows.pivot(index=keys, columns="metric", values="value").reindex(columns=metrics)
    errors = rows.pivot(index=keys, columns="metric", values="stderr").reindex(columns=metrics)
    return values.join(errors.add_suffix("_stderr")).reset_index()


def with_broken(rows: pd.DataFrame, request: pd.DataFrame) -> pd.DataFrame:
    """With a row for each that was asked and has none, because its cell is broken; it holds no more."""
    return request.merge(rows, how="outer", on=list(request))


def in_doublings(axes, across: pd.Series) -> None:
    """A tick for each number across, and a line where a model is as the unchanged one."""
    axes.axhline(1, color="0.6", linewidth=0.8)
    axes.set_xscale("log", base=2)
    ticks = sorted(set(across))
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(color="0.9", linewidth=0.6)


def chunks_of(plan: str) -> int:
    """How many chunks a plan has: `k4m6-sequential` has 4; the unchanged model is one."""
    return max(1, int(plan[1 : plan.index("m")])) if plan.startswith("k") else 1


def variants_of(rows: pd.DataFrame) -> list[str]:
    """The variants whose speed the rows are of."""
    shapes = rows[["plan", "aggregation", "adapters"]].astype(object)
    return [_shape_of(*one) for one in shapes.where(shapes.notna(), None).itertuples(index=False)]


def _shape_of(plan: str, aggregation: str | None, adapters: str | None) -> str:
    """What is usual has no mark; the model as it is has its plan alone."""
    if plan == UNCHANGED:
        return f"@{UNCHANGED}"
    usual = {USUAL_AGGREGATION: "", None: NO_ADAPTERS, USUAL_ADAPTERS: ""}
    marks = (plan, usual.get(aggregation, aggregation), usual.get(adapters, adapters))
    return "@" + "-".join(mark for mark in marks if mark)


def layers_per_chunk(plan: str) -> int:
    return int(plan[plan.index("m") + 1 :].split("-")[0])
