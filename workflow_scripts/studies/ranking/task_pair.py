"""Compare two tasks: the rank of each model on both, and the ranks consistent with the standard errors."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.stats.partial_order import (
    CRITICAL_Z,
    compute_joint_ranks,
    compute_partial_orders,
    compute_rank_bounds,
    count_opposed_models,
)
from workflow_scripts.studies.ranking import grid_tables, plots
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.leaderboard import format_ranks

_NOTE = (
    "Two tasks over the models that have both, scores with their standard errors. A model ranks above"
    f" another where its score is higher by more than {CRITICAL_Z} standard errors of the difference;"
    " in brackets the ranks that this order leaves a model. Among these its rank is chosen as alike on"
    " both tasks as the order allows, so that what differs between them differs significantly."
    " A score without a standard error is above or below none."
)
_COLUMNS = ["protocol", "task", "label", "model", "variant", "origin", "family"]
_COLUMNS += ["value", "stderr", "rank", "best", "worst", "opposed"]


def compute_task_pair(grids: Grids, settings: GridSettings, pair: Sequence[str]) -> pd.DataFrame:
    """Compute one row per protocol, task and model with both tasks, best first; empty for a single task.

    `pair` has the names of the tasks; if it is empty, they are the first two that have scores.
    """
    grids = {key: grid for key, grid in grids.items() if key in settings.plotted_protocols}
    # In the order of the tasks table, like the columns of a grid.
    measured = dict.fromkeys(task for grid in grids.values() for task in grid.measured)
    tasks = list(pair or measured)[:2]
    tables = []
    for protocol, grid in grids.items():
        if len(tasks) < 2 or not set(tasks) <= set(grid.scores):
            continue
        scores = grid.scores[tasks].dropna()
        errors = grid.errors.select(scores)
        orders = compute_partial_orders(errors)
        ranks = compute_joint_ranks(errors, orders)
        models = grid.models.loc[scores.index].assign(opposed=count_opposed_models(orders))
        for task, order in zip(tasks, orders, strict=True):
            best, worst = compute_rank_bounds(order)
            table = models.assign(protocol=protocol, task=task, best=best, worst=worst)
            table = table.assign(value=scores[task], stderr=errors.stderrs[task], rank=ranks[task])
            table = table.rename_axis("label").reset_index().sort_values("rank")
            tables.append(table[_COLUMNS])
    return pd.concat(tables or [pd.DataFrame(columns=_COLUMNS)], ignore_index=True)


def plot_task_pair(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot ranks by task with a panel per protocol and a line per model, opaque where its intervals do not overlap."""
    protocols = plots.list_protocols(table, settings) if table["label"].nunique() > 1 else []
    note = "(ranks as alike as the standard errors allow)"
    panels = {
        f"{settings.protocol_names[protocol]}\n{note}": table[table["protocol"] == protocol]
        for protocol in protocols
    }
    plots.plot_ranks(
        panels,
        "task",
        {task: settings.task_names[task] for task in table["task"].unique()},
        ("rank", "best", "worst"),
        files,
        width=5.4,
        placeholder="Fewer than two models have scores on both tasks.",
        columns=8,
    )


@validate_call
def main(
    grid: Path,
    table: list[Path],
    figure: list[Path],
    settings: GridSettings,
    task_pair: Sequence[str],
) -> None:
    pair = compute_task_pair(read_grids(grid), settings, task_pair)
    shown = {
        "Protocol": "{protocol}",
        "Task": pair["task"].map(settings.task_names),
        "Rank": format_ranks(pair["rank"], pair["best"], pair["worst"]),
        "Model": "{label}",
        "Score": "{value:.3f} ± {stderr:.3f}",
    }
    title = "Two tasks side by side"
    grid_tables.write_grid_table(pair, table, settings, title=title, note=_NOTE, shown=shown)
    plot_task_pair(pair, settings, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
