"""Compute the agreement of tasks and categories on the ranking of models, with its noise ceiling."""

from itertools import combinations, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.text import fixed
from workflow_scripts.settings.tables import CATEGORIES
from workflow_scripts.stats.agreement import (
    average_by_category,
    average_by_task,
    average_pairs,
    count_rising_pairs,
    kendall_matrix,
    select_shared_cells,
)
from workflow_scripts.stats.jackknife import compute_family_jackknife
from workflow_scripts.stats.redraws import (
    bootstrap_agreement,
    bootstrap_agreement_rise,
    compute_agreement_ceiling,
    compute_self_agreement,
)
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have, as a mean over pairs of"
    " different tasks. 95% intervals: over families, by a jackknife over model families (their number in brackets;"
    " over models where there are fewer than four families); over items, with test items resampled, the same for"
    f" all models{frame.TRAININGS}. Own redraw: the agreement of a task with its resampled scores, as a mean over"
    " tasks. Ceiling: the noise ceiling, the agreement of tasks that differ in nothing but this noise. Against"
    " direct: over the models and cells that both protocols have. A dash: not computable from these scores. The CSV"
    " has each task and all pairs."
)
# Interval over families, with their number.
OVER_FAMILIES = "{families_low:.3f} to {families_high:.3f} ({groups:.0f} {of})"
# Order of the statistics in the CSV; the Markdown table has only frame.STATISTICS.
_ORDER = [*frame.STATISTICS, frame.TASK, frame.TASK_CEILING, frame.CATEGORY, frame.PAIR]
_COLUMNS = ["protocol", "origins", "measure", "statistic", "first", "second", "value"]
_COLUMNS += ["families_low", "families_high", "groups", "of", "items_low", "items_high"]
_COLUMNS += ["models", "pairs"]


def compute_correlations(scores: pd.DataFrame, measure: str) -> pd.DataFrame:
    return kendall_matrix(scores) if measure == "kendall" else scores.corr()


def compute_agreement(
    grids: Grids, settings: GridSettings, draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute one row per number in long form (protocol, statistic, and task, category or pair), and the categories.

    The second table has one row per protocol, measure and pair of categories.
    """
    direct, rows, categories = grids.get(settings.grid.baseline), [], []
    for protocol, grid in grids.items():
        for measure in settings.grid.measures:
            matrix = compute_correlations(grid.measured, measure)
            means = average_categories(matrix, settings)
            values = _compute_statistics(grid, measure, matrix, means, draws, seed)
            if direct and grid is not direct:
                values += _compare_with_direct(direct, grid, measure, draws, seed)
            about = {"protocol": protocol, "origins": grid.origins, "measure": measure}
            values.sort(key=lambda row: _ORDER.index(row["statistic"]))
            rows += [about | row for row in values]
            means.insert(0, "protocol", protocol)
            means.insert(1, "measure", measure)
            categories.append(means)
    table = pd.DataFrame(rows, columns=_COLUMNS)
    single = {"measure": len(settings.grid.measures) == 1, "origins": not settings.grid.run}
    table = table.drop(columns=[name for name, is_single in single.items() if is_single])
    return table, pd.concat(categories, ignore_index=True)


def _compute_statistics(
    grid: Grid, measure: str, matrix: pd.DataFrame, categories: pd.DataFrame, draws: int, seed: int
) -> list[dict[str, Any]]:
    scores = grid.measured.dropna(how="all")
    pairs = [
        {
            "statistic": frame.PAIR,
            "first": first,
            "second": second,
            "value": matrix.at[first, second],
        }
        for first, second in combinations(matrix, 2)
    ]
    defined = sum(pd.notna(pair["value"]) for pair in pairs)
    mean = {"statistic": frame.MEAN, "value": average_pairs(matrix), "pairs": defined}
    rows = [mean, *_name_tasks(frame.TASK, average_by_task(matrix))]

    def compute_means(is_left: np.ndarray) -> np.ndarray:
        left = compute_correlations(scores[is_left], measure)
        return np.array([average_pairs(left), *average_by_task(left)])

    reach = compute_family_jackknife(compute_means, grid.models.loc[scores.index, "family"])
    for row, low, high in zip(rows, reach.low.clip(-1), reach.high.clip(None, 1), strict=True):
        row |= {"families_low": low, "families_high": high, "groups": reach.groups, "of": reach.of}
    if measure == "kendall":
        errors, fewer = grid.errors.part(scores), max(draws // 5, 10)
        mean["items_low"], mean["items_high"] = bootstrap_agreement(errors, draws, seed)
        factor = 1.0 if errors.are_known else np.nan
        redraw = compute_self_agreement(errors, fewer, seed).mean() * factor
        # Over the same pairs of tasks as the mean; NaN if any score lacks an error.
        ceilings = compute_agreement_ceiling(errors, fewer, seed).where(matrix.notna()) * factor
        rows.append({"statistic": frame.OWN_REDRAW, "value": redraw})
        rows.append({"statistic": frame.CEILING, "value": average_pairs(ceilings)})
        rows += _name_tasks(frame.TASK_CEILING, average_by_task(ceilings))
    means = categories.drop(columns="pairs").dropna()
    rows += means.assign(statistic=frame.CATEGORY).to_dict("records")
    return [{"models": len(scores)} | row for row in [*rows, *pairs]]


def _name_tasks(statistic: str, values: pd.Series) -> list[dict[str, Any]]:
    return [{"statistic": statistic, "first": task, "value": tau} for task, tau in values.items()]


def average_categories(matrix: pd.DataFrame, settings: GridSettings) -> pd.DataFrame:
    """List each pair of categories with the mean over their pairs of tasks and the number of those."""
    means = average_by_category(matrix, settings.categories)
    sizes = matrix.columns.map(settings.categories).value_counts()
    rows = []
    for first, second in combinations_with_replacement(means, 2):
        others = sizes[second] if first != second else (sizes[first] - 1) / 2
        rows.append((first, second, means.at[first, second], int(sizes[first] * others)))
    return pd.DataFrame(rows, columns=["first", "second", "value", "pairs"])


def _compare_with_direct(
    direct: Grid, other: Grid, measure: str, draws: int, seed: int
) -> list[dict[str, Any]]:
    before, after = select_shared_cells(direct.values, other.values)
    before = before.dropna(how="all").dropna(axis=1, how="all")
    after = after.loc[before.index, before.columns]
    if min(before.shape) < 2:
        return []
    share, pairs = count_rising_pairs(
        compute_correlations(before, measure), compute_correlations(after, measure)
    )

    def compute_rise(is_left: np.ndarray) -> np.ndarray:
        first, second = (
            average_pairs(compute_correlations(scores[is_left], measure))
            for scores in (before, after)
        )
        return np.array(second - first)

    reach = compute_family_jackknife(compute_rise, direct.models.loc[before.index, "family"])
    rise = {
        "statistic": frame.DIFFERENCE,
        "value": compute_rise(np.full(len(before), True)).item(),
        "families_low": float(reach.low),
        "families_high": float(reach.high),
        "groups": reach.groups,
        "of": reach.of,
    }
    if measure == "kendall":
        errors = direct.errors.part(before), other.errors.part(after)
        interval = bootstrap_agreement_rise(*errors, draws=draws, seed=seed)
        rise["items_low"], rise["items_high"] = interval
    rows = [rise, {"statistic": frame.SHARE, "value": share}]
    return [{"models": len(before), "pairs": pairs} | row for row in rows]


def summarize_agreement(table: pd.DataFrame, study: str) -> Values:
    """Return the named statistics over all pairs of tasks."""
    keys = [name for name in ("protocol", "measure", "statistic") if name in table]
    columns = ["value", "families_low", "families_high", "items_low", "items_high", "pairs"]
    return frame.name_numbers(table[table["first"].isna()], study, keys, columns)


def plot_agreement(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot Kendall's tau-b of every pair of tasks, ordered by category."""
    if "measure" in table:
        table = table[table["measure"] == "kendall"]
    pairs = table[table["statistic"] == frame.PAIR]
    present = {*pairs["first"], *pairs["second"]}
    order = [*(settings.grid.categories or CATEGORIES), ""]
    tasks = [task for task in settings.names if task in present]
    tasks.sort(key=lambda task: order.index(settings.categories[task]))
    categories = [settings.categories[task] for task in tasks]
    borders = [n for n in range(1, len(tasks)) if categories[n] != categories[n - 1]]
    titles = dict(settings.grid.names)
    for row in table[table["statistic"] == frame.MEAN].dropna(subset="families_low").itertuples():
        low, high = fixed(row.families_low, ".3f"), fixed(row.families_high, ".3f")
        titles[row.protocol] += (
            f", {row.models:.0f} models\nmean agreement {fixed(row.value, '.3f')}"
            f"\n({low} to {high} over {row.groups:.0f} {row.of})"
        )
    names = {task: settings.names[task] for task in tasks}
    squares = plots.pivot_pairs(pairs, titles, settings.grid, names)
    plots.plot_heat_maps(squares, files, "Kendall's tau-b of two tasks", borders)


def plot_categories(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot the mean of tau-b for every pair of categories."""
    rows = table[table["measure"] == "kendall"]
    present = {*rows["first"], *rows["second"]}
    names = {
        name: name.replace(" ", "\n").replace("/", "/\n")
        for name in settings.grid.categories or CATEGORIES
        if name in present
    }
    squares = plots.pivot_pairs(rows, settings.grid.names, settings.grid, names)
    plots.plot_heat_maps(squares, files, "mean of Kendall's tau-b over pairs of different tasks")


def main(
    grid: Path,
    table: list[Path],
    figure: list[Path],
    categories: list[Path],
    categories_figure: list[Path],
    settings: dict[str, Any],
    num_bootstrap: int,
    seed: int,
) -> None:
    grid_settings, grids = GridSettings.of(settings), read_grids(grid)
    agreement, averages = compute_agreement(grids, grid_settings, num_bootstrap, seed)
    rows = agreement[agreement["statistic"].isin(list(frame.STATISTICS))]
    measure = {"Measure": rows["measure"].map(frame.MEASURES)} if "measure" in rows else {}
    shown: dict[str, Any] = {
        "Protocol": "{protocol}",
        **measure,
        "Statistic": rows["statistic"].map(frame.STATISTICS),
        "Value": "{value:.3f}",
        "Over families": OVER_FAMILIES,
        "Over items": "{items_low:.3f} to {items_high:.3f}",
        "Models": "{models:.0f}",
        "Pairs": "{pairs:.0f}",
    }
    title = "Rank agreement between tasks"
    frame.write_grid_table(
        agreement, table, grid_settings, title=title, note=_NOTE, shown=shown, rows=rows
    )
    plot_agreement(agreement, grid_settings, figure)

    between = averages["first"] + " and " + averages["second"]
    is_within = averages["first"] == averages["second"]
    shown = {
        "Protocol": "{protocol}",
        "Measure": averages["measure"].map(frame.MEASURES),
        "Categories": between.mask(is_within, "within " + averages["first"]),
        "Pairs": "{pairs}",
        "Mean": "{value:.3f}",
    }
    title = "Agreement by category"
    note = "Mean agreement over pairs of different tasks, one of each category; within: both of one category."
    frame.write_grid_table(averages, categories, grid_settings, title=title, note=note, shown=shown)
    plot_categories(averages, grid_settings, categories_figure)


if "snakemake" in globals():
    run_job(main, snakemake)
