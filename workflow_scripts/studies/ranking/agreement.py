"""Compute the agreement of tasks and categories on the ranking of models, with its noise ceiling."""

from collections.abc import Callable
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.text import format_fixed
from workflow_scripts.settings.tables import CATEGORIES
from workflow_scripts.stats.agreement import (
    average_by_category,
    average_pairs,
    compute_kendall_matrix,
    count_rising_pairs,
    select_shared_cells,
)
from workflow_scripts.stats.jackknife import compute_family_jackknife
from workflow_scripts.stats.redraws import (
    bootstrap_agreement,
    bootstrap_agreement_rise,
    compute_agreement_ceiling,
)
from workflow_scripts.studies.ranking import grid_tables, plots
from workflow_scripts.studies.ranking.grid import Grid, Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have, as a mean over pairs of"
    " different tasks. 95% intervals: over families, by a jackknife over model families (their number in brackets;"
    " over models where there are fewer than four families); over items, with test items resampled, the same for"
    f" all models{grid_tables.RETRAINED_CLAUSE}. Ceiling: the noise ceiling, the agreement of tasks that differ in"
    " nothing but this noise. Against direct: over the models and cells that both protocols have. A dash: not"
    " computable from these scores. The CSV has all pairs of tasks."
)
# The displayed interval over families, with their number.
FAMILY_INTERVAL = "{families_low:.3f} to {families_high:.3f} ({groups:.0f} {of})"
# The statistics in the order of the CSV; the Markdown table has only grid_tables.STATISTICS.
_ORDER = [*grid_tables.STATISTICS, grid_tables.PAIR]
_COLUMNS = ["protocol", "origins", "measure", "statistic", "first", "second", "value"]
_COLUMNS += ["families_low", "families_high", "groups", "of", "items_low", "items_high"]
_COLUMNS += ["models", "pairs"]


def compute_correlations(scores: pd.DataFrame, measure: str) -> pd.DataFrame:
    return compute_kendall_matrix(scores) if measure == "kendall" else scores.corr()


def compute_family_interval(
    compute: Callable[[np.ndarray], float], families: pd.Series, limit: float = 1.0
) -> dict[str, Any]:
    """Compute a statistic of all models with its 95% interval over families, within `limit` of 0.

    `compute` takes the mask of the models to keep.
    """
    interval = compute_family_jackknife(compute, families)
    return {
        "value": float(interval.value),
        "families_low": float(np.maximum(interval.low, -limit)),
        "families_high": float(np.minimum(interval.high, limit)),
        "groups": interval.groups,
        "of": interval.unit,
    }


def compute_agreement(
    grids: Grids, settings: GridSettings, draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute one row per protocol, measure, statistic and, for correlations of tasks, pair of tasks.

    The second table has one row per protocol, measure and pair of categories. `draws` is the number of bootstrap
    samples.
    """
    direct = grids.get(settings.reference_protocol)
    rows = []
    categories = []
    for protocol, grid in grids.items():
        for measure in settings.measures:
            matrix = compute_correlations(grid.measured, measure)
            means = average_categories(matrix, settings)
            values = _compute_statistics(grid, measure, matrix, draws, seed)
            if direct and grid is not direct:
                values += _compare_with_direct(direct, grid, measure, draws, seed)
            key = {"protocol": protocol, "measure": measure}
            values.sort(key=lambda row: _ORDER.index(row["statistic"]))
            rows += [{"origins": grid.origins} | key | row for row in values]
            categories.append(pd.DataFrame(key, means.index).join(means))
    return pd.DataFrame(rows, columns=_COLUMNS), pd.concat(categories, ignore_index=True)


def _compute_statistics(
    grid: Grid, measure: str, matrix: pd.DataFrame, draws: int, seed: int
) -> list[dict[str, Any]]:
    """Compute the mean, the correlation of each pair of tasks and, for Kendall's tau-b, the ceiling of the mean."""
    scores = grid.measured.dropna(how="all")
    mean = compute_family_interval(
        lambda is_kept: average_pairs(compute_correlations(scores[is_kept], measure)),
        grid.models.loc[scores.index, "family"],
    )
    pairs = [
        {
            "statistic": grid_tables.PAIR,
            "first": first,
            "second": second,
            "value": matrix.at[first, second],
        }
        for first, second in combinations(matrix, 2)
    ]
    defined = sum(pd.notna(pair["value"]) for pair in pairs)
    mean |= {"statistic": grid_tables.MEAN, "pairs": defined}
    rows = [mean, *pairs]
    if measure == "kendall":
        errors = grid.errors.select(scores)
        mean["items_low"], mean["items_high"] = bootstrap_agreement(errors, draws, seed)
        ceilings = compute_agreement_ceiling(errors, max(draws // 5, 10), seed)
        # Over the same pairs of tasks as the mean; NaN if any score lacks an error.
        ceiling = average_pairs(ceilings.where(matrix.notna() & errors.are_known))
        rows.append({"statistic": grid_tables.CEILING, "value": ceiling})
    return [{"models": len(scores)} | row for row in rows]


def average_categories(matrix: pd.DataFrame, settings: GridSettings) -> pd.DataFrame:
    """List each pair of categories with the mean over their pairs of tasks and the number of those."""
    means = average_by_category(matrix, settings.task_categories)
    sizes = matrix.columns.map(settings.task_categories).value_counts()
    rows = []
    for first, second in combinations_with_replacement(means, 2):
        pairs_per_task = sizes[second] if first != second else (sizes[first] - 1) / 2
        rows.append((first, second, means.at[first, second], int(sizes[first] * pairs_per_task)))
    return pd.DataFrame(rows, columns=["first", "second", "value", "pairs"])


def _compare_with_direct(
    direct: Grid, other: Grid, measure: str, draws: int, seed: int
) -> list[dict[str, Any]]:
    """Compute the rise of the mean over the direct scores, and the fraction of pairs of tasks that agree more."""
    before, after = select_shared_cells(direct.scores, other.scores)
    before = before.dropna(how="all").dropna(axis=1, how="all")
    after = after.loc[before.index, before.columns]
    if min(before.shape) < 2:
        return []
    matrices = [compute_correlations(scores, measure) for scores in (before, after)]
    improving, pairs = count_rising_pairs(*matrices)

    def compute_rise(is_kept: np.ndarray) -> float:
        first, second = (
            average_pairs(compute_correlations(scores[is_kept], measure))
            for scores in (before, after)
        )
        return second - first

    families = direct.models.loc[before.index, "family"]
    rise = compute_family_interval(compute_rise, families, limit=2.0)
    if measure == "kendall":
        rise["items_low"], rise["items_high"] = bootstrap_agreement_rise(
            direct.errors.select(before), other.errors.select(after), draws, seed
        )
    rows = [
        {"statistic": grid_tables.RISE} | rise,
        {"statistic": grid_tables.IMPROVING, "value": improving},
    ]
    return [{"models": len(before), "pairs": pairs} | row for row in rows]


def summarize_agreement(table: pd.DataFrame, study: str) -> Values:
    """Return the named statistics over all pairs of tasks."""
    keys = [name for name in ("protocol", "measure", "statistic") if name in table]
    columns = ["value", "families_low", "families_high", "items_low", "items_high", "pairs"]
    return grid_tables.name_numbers(table[table["first"].isna()], study, keys, columns)


def plot_agreement(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot Kendall's tau-b of every pair of tasks, ordered by category."""
    table = table[table["measure"] == "kendall"]
    pairs = table[table["statistic"] == grid_tables.PAIR]
    present = {*pairs["first"], *pairs["second"]}
    order = [*(settings.categories or CATEGORIES), ""]
    tasks = [task for task in settings.task_names if task in present]
    tasks.sort(key=lambda task: order.index(settings.task_categories[task]))
    categories = [settings.task_categories[task] for task in tasks]
    borders = [n for n in range(1, len(tasks)) if categories[n] != categories[n - 1]]
    titles = dict(settings.protocol_names)
    for row in (
        table[table["statistic"] == grid_tables.MEAN].dropna(subset="families_low").itertuples()
    ):
        low = format_fixed(row.families_low, ".3f")
        high = format_fixed(row.families_high, ".3f")
        titles[row.protocol] += (
            f", {row.models:.0f} models\nmean agreement {format_fixed(row.value, '.3f')}"
            f"\n({low} to {high} over {row.groups:.0f} {row.of})"
        )
    names = {task: settings.task_names[task] for task in tasks}
    matrices = plots.pivot_pairs(pairs, titles, settings, names)
    plots.plot_heat_maps(matrices, files, "Kendall's tau-b of two tasks", borders)


def plot_categories(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot the mean of tau-b for every pair of categories."""
    rows = table[table["measure"] == "kendall"]
    names = {
        name: name.replace(" ", "\n").replace("/", "/\n")
        for name in settings.categories or CATEGORIES
        if name in {*rows["first"], *rows["second"]}
    }
    matrices = plots.pivot_pairs(rows, settings.protocol_names, settings, names)
    plots.plot_heat_maps(matrices, files, "mean of Kendall's tau-b over pairs of different tasks")


@validate_call
def main(
    grid: Path,
    table: list[Path],
    figure: list[Path],
    categories: list[Path],
    categories_figure: list[Path],
    settings: GridSettings,
    num_bootstrap: int,
    seed: int,
) -> None:
    agreement, averages = compute_agreement(read_grids(grid), settings, num_bootstrap, seed)
    plot_agreement(agreement, settings, figure)
    plot_categories(averages, settings, categories_figure)

    rows = agreement[agreement["statistic"].isin(list(grid_tables.STATISTICS))]
    shown: dict[str, Any] = {
        "Protocol": "{protocol}",
        "Measure": rows["measure"].map(grid_tables.MEASURES),
        "Statistic": rows["statistic"].map(grid_tables.STATISTICS),
        "Value": "{value:.3f}",
        "Over families": FAMILY_INTERVAL,
        "Over items": "{items_low:.3f} to {items_high:.3f}",
        "Models": "{models:.0f}",
        "Pairs": "{pairs:.0f}",
    }
    if len(settings.measures) == 1:
        agreement = agreement.drop(columns="measure")
        shown.pop("Measure")
    if not settings.run:
        agreement = agreement.drop(columns="origins")
    grid_tables.write_grid_table(
        agreement,
        table,
        settings,
        title="Rank agreement between tasks",
        note=_NOTE,
        shown=shown,
        rows=rows,
    )
    between = averages["first"] + " and " + averages["second"]
    is_within = averages["first"] == averages["second"]
    grid_tables.write_grid_table(
        averages,
        categories,
        settings,
        title="Agreement by category",
        note="Mean agreement over pairs of different tasks, one of each category; within: both of one category.",
        shown={
            "Protocol": "{protocol}",
            "Measure": averages["measure"].map(grid_tables.MEASURES),
            "Categories": between.mask(is_within, "within " + averages["first"]),
            "Pairs": "{pairs}",
            "Mean": "{value:.3f}",
        },
    )


if "snakemake" in globals():
    run_job(main, snakemake)
