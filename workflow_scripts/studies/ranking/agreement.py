"""How well tasks agree about models, by protocol, beside what drawing again alone would leave."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import intervals, numbers
from workflow_scripts.stats.agreement import (
    agreement_by_category,
    agreement_by_task,
    kendall_matrix,
    mean_of_pairs,
    share_improving,
    shared_cells,
)
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.redraws import (
    agree_with_redraw,
    ceiling_of_pairs,
    difference_drawn,
    interval_drawn,
)
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have; means over pairs"
    " of different tasks. 95% intervals: over families, had"
    " other families of models been taken (in brackets how many there are, or how many models where"
    " families are fewer than four); over items, had other test items been drawn, the same for all"
    " models{trainings}. Own redraw: agreement of a task with its scores drawn again so, mean over tasks."
    " Ceiling: what tasks could agree at most if they differed in nothing but that. Against"
    " direct: over the models and cells that both protocols have."
    " A dash is a number that the scores at hand do not give. Each task with the others, and all pairs, are in the"
    " CSV.{last}"
)
# What the Markdown table has; the CSV has what is of one task, category or pair too.
_OF_ALL = {frame.MEAN, frame.OWN_REDRAW, frame.CEILING, frame.DIFFERENCE, frame.SHARE}
_COLUMNS = [
    *("protocol", "origins", "measure", "statistic", "first", "second", "value"),
    *("families_low", "families_high", "groups", "of", "items_low", "items_high"),
    *("models", "pairs"),
]


def correlate(scores: pd.DataFrame, measure: str) -> pd.DataFrame:
    return kendall_matrix(scores) if measure == "kendall" else scores.corr()


def compute_agreement(
    grids: dict[str, Grid], settings: GridSettings, draws: int, seed: int
) -> pd.DataFrame:
    """Compute a row per number, in long form: protocol, statistic, task or category or pair of them."""
    grid, tables = settings.grid, []
    direct = grids.get(grid.baseline)
    for protocol, one in grids.items():
        for measure in grid.measures:
            rows = _agree_within(one, measure, settings, draws, seed)
            if direct and one is not direct:
                rows += _compare_with_direct(direct, one, measure, draws, seed)
            table = pd.DataFrame(rows).assign(measure=measure, origins=one.origins)
            tables.append(table.assign(protocol=protocol))
    order = [*grid.protocols, *grid.measures, *frame.STATISTICS]
    table = pd.concat(tables).reindex(columns=_COLUMNS)
    table = table.sort_values(
        ["protocol", "measure", "statistic"],
        key=lambda column: column.map(order.index),
        kind="stable",
        ignore_index=True,
    )
    alone = [] if len(grid.measures) > 1 else ["measure"]
    return table.drop(columns=[*alone, *([] if grid.run else ["origins"])])


def _agree_within(
    grid: Grid, measure: str, settings: GridSettings, draws: int, seed: int
) -> list[dict[str, Any]]:
    scores = grid.measured.dropna(how="all")
    matrix = correlate(scores, measure)
    pairs = [
        {"statistic": frame.PAIR, "first": a, "second": b, "value": matrix.at[a, b]}
        for at, a in enumerate(matrix)
        for b in matrix.columns[at + 1 :]
    ]
    known = sum(pd.notna(pair["value"]) for pair in pairs)
    rows = [{"statistic": frame.MEAN, "value": mean_of_pairs(matrix), "pairs": known}]
    rows += _name_tasks(frame.TASK, agreement_by_task(matrix))

    def compute_means(kept: np.ndarray) -> np.ndarray:
        left = correlate(scores[kept], measure)
        return np.array([mean_of_pairs(left), *agreement_by_task(left)])

    reach = over_families(compute_means, grid.models.loc[scores.index, "family"])
    for row, low, high in zip(rows, reach.low.clip(-1), reach.high.clip(None, 1), strict=True):
        row |= {"families_low": low, "families_high": high}
        row |= {"groups": reach.groups, "of": reach.of}
    if measure == "kendall":
        errors, fewer = grid.errors.part(scores), max(draws // 5, 10)
        rows[0]["items_low"], rows[0]["items_high"] = interval_drawn(errors, draws, seed)
        unknown = np.nan if not errors.are_known else 1.0
        own = agree_with_redraw(errors, fewer, seed) * unknown
        # Over the pairs of tasks that the mean is over; of none where a score that it is of has no error.
        ceilings = ceiling_of_pairs(errors, fewer, seed).where(matrix.notna()) * unknown
        rows.append({"statistic": frame.OWN_REDRAW, "value": own.mean()})
        rows.append({"statistic": frame.CEILING, "value": mean_of_pairs(ceilings)})
        rows += _name_tasks(frame.TASK_CEILING, agreement_by_task(ceilings))
    rows += [
        {"statistic": frame.CATEGORY, "first": first, "second": second, "value": value}
        for first, second, value in mean_by_category(matrix, settings)
        if pd.notna(value)  # a category of one task has no pairs within
    ]
    return [{"models": len(scores)} | row for row in [*rows, *pairs]]


def _name_tasks(statistic: str, values: pd.Series) -> list[dict[str, Any]]:
    return [{"statistic": statistic, "first": task, "value": tau} for task, tau in values.items()]


def mean_by_category(matrix: pd.DataFrame, settings: GridSettings) -> list[tuple[str, str, float]]:
    """List each two categories, and the mean over pairs of their tasks."""
    means = agreement_by_category(matrix, {task.task: task.category for task in settings.tasks})
    return [
        (first, second, means.at[first, second])
        for at, first in enumerate(means)
        for second in means.columns[at:]
    ]


def _compare_with_direct(
    direct: Grid, other: Grid, measure: str, draws: int, seed: int
) -> list[dict[str, Any]]:
    first, second = shared_cells(direct.values, other.values)
    first = first.dropna(how="all").dropna(axis=1, how="all")
    second = second.loc[first.index, first.columns]
    if min(first.shape) < 2:
        return []
    share, pairs = share_improving(correlate(first, measure), correlate(second, measure))

    def compute_rise(kept: np.ndarray) -> np.ndarray:
        means = [mean_of_pairs(correlate(side[kept], measure)) for side in (first, second)]
        return np.array(means[1] - means[0])

    reach = over_families(compute_rise, direct.models.loc[first.index, "family"])
    base = {"models": len(first), "pairs": pairs}
    rise = base | {
        "statistic": frame.DIFFERENCE,
        "value": float(compute_rise(np.full(len(first), True))),
        "families_low": float(reach.low),
        "families_high": float(reach.high),
        "groups": reach.groups,
        "of": reach.of,
    }
    if measure == "kendall":
        errors = direct.errors.part(first), other.errors.part(second)
        rise["items_low"], rise["items_high"] = difference_drawn(*errors, draws=draws, seed=seed)
    return [rise, base | {"statistic": frame.SHARE, "value": share}]


def format_intervals(table: pd.DataFrame) -> list[str | None]:
    """Format intervals over families, with how many there are."""
    ends = intervals(table["families_low"], table["families_high"])
    return [
        f"{reach} ({groups:.0f} {of})" if reach else None
        for reach, groups, of in zip(ends, table["groups"], table["of"], strict=True)
    ]


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    table = table[table["statistic"].isin(_OF_ALL)]
    measure = {"Measure": table["measure"].map(frame.MEASURES)} if "measure" in table else {}
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        **measure,
        "Statistic": table["statistic"].map(frame.STATISTICS),
        "Value": numbers(table["value"]),
        "Over families": format_intervals(table),
        "Over items": intervals(table["items_low"], table["items_high"]),
        "Models": numbers(table["models"], ".0f"),
        "Pairs": numbers(table["pairs"], ".0f"),
    }


def plot_matrices(
    table: pd.DataFrame, settings: GridSettings, files: Sequence[Path], measure: str = "kendall"
) -> None:
    """Plot the agreement of every pair of tasks, in the order of their categories."""
    if "measure" in table:
        table = table[table["measure"] == measure]
    pairs = table[table["statistic"] == frame.PAIR]
    present = set(pairs["first"]) | set(pairs["second"])
    tasks = [row for row in settings.in_categories if row.task in present]
    borders = [at for at in range(1, len(tasks)) if tasks[at].category != tasks[at - 1].category]
    plots.plot_matrices(
        pairs,
        plots.title_with_mean(table, settings.grid),
        settings.grid,
        files,
        names={row.task: row.display_name for row in tasks},
        lines=borders,
        label=f"{frame.MEASURES[measure]} of two tasks",
    )


def main(
    cells: Path,
    models: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
    bootstrap_draws: int,
    seed: int,
) -> None:
    of_grid = GridSettings.of(settings)
    agreement = compute_agreement(read_grids(cells, models), of_grid, bootstrap_draws, seed)
    note = frame.describe_draws(_NOTE, agreement, of_grid)
    title = frame.make_title("Agreement of tasks about models", of_grid)
    shown = format_columns(agreement, of_grid)
    write_table(agreement, table, title=title, note=note, shown=shown)
    plot_matrices(agreement, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
