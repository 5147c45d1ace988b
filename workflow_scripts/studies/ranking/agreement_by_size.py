"""What of the agreement of tasks is left among models of like size: that larger ones are better is left out."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import drawing
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.stats.agreement import (
    kendall_matrix,
    mean_of_pairs,
    share_improving,
    shared_cells,
)
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.like_sizes import (
    FACTOR,
    FEWEST,
    MOST_PAIRS,
    draw_pairs,
    group_in_bands,
    pair_like,
)
from workflow_scripts.stats.redraws import ceiling_of_pairs
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.agreement import format_intervals
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

ALL, LIKE, BAND = "all", "like", "band"
_NOTE = (
    "Mean of Kendall's tau-b over pairs of different tasks, of all models and of models of like size. Like"
    f" size: two models count where their parameters are at most a factor of {FACTOR:.0f} apart, whatever"
    f" their sizes (of more than {MOST_PAIRS:,} pairs so many are drawn). A band holds the models between two sizes"
    f" a factor of {FACTOR:.0f} apart, if there are {FEWEST} or more. The interval (95%) is over families, had others"
    " been taken (in brackets how many there are, or how many models where families are fewer than four)."
    " Ceiling: what tasks could agree at most if they differed in nothing but what drawing again changes:"
    " had other test items been drawn{trainings}."
    " Rising: pairs of tasks whose agreement is higher than directly, over the cells that both protocols"
    " have.{last}"
)


class Group(NamedTuple):
    """Models that are looked at by themselves; of those of like size every model is in it, and not every pair."""

    kind: str
    models: pd.Index
    smallest: float = np.nan
    largest: float = np.nan


def group_models(grid: Grid) -> list[Group]:
    """List all models that have a score, then each band of sizes, smallest first."""
    scored = grid.measured.dropna(how="all").index
    bands = group_in_bands(grid.models.loc[scored, "parameters"])
    return [
        Group(ALL, scored),
        *(Group(BAND, models, low, high) for low, high, models in bands),
    ]


def compute_by_size(
    grids: dict[str, Grid], settings: GridSettings, draws: int, seed: int
) -> pd.DataFrame:
    """Compute a row per protocol and group of models: all, all pairs of like size, and each band."""
    direct = grids.get(settings.grid.baseline)
    rows = []
    for grid in grids.values():
        every, *bands = group_models(grid)
        sized = grid.models.loc[every.models, "parameters"].dropna().index
        for group in (every, Group(LIKE, sized), *bands):
            row = _describe_group(grid, group, draws, seed)
            if direct and grid is not direct:
                sides = shared_cells(direct.values, grid.values.loc[group.models])
                matrices = (_agree(side, grid, group.kind) for side in sides)
                row["rising"], row["pairs"] = share_improving(*matrices)
            if row["pairs_of_models"] or group.kind == ALL:
                rows.append(row)
    columns = dict.fromkeys([*rows[0], "ceiling", "rising", "pairs"])
    return pd.DataFrame(rows, columns=list(columns))


def _describe_group(grid: Grid, group: Group, draws: int, seed: int) -> dict[str, Any]:
    scores = grid.measured.loc[group.models]
    about, count = grid.models.loc[group.models], len(group.models)

    def compute_mean(kept: np.ndarray) -> np.ndarray:
        left = scores[kept]
        if group.kind == LIKE:  # the pairs, which may be drawn, stay the same: of them those left
            left = scores.mul(np.where(kept, 1.0, np.nan), axis=0)
        return np.array(mean_of_pairs(_agree(left, grid, group.kind)))

    reach = over_families(compute_mean, about["family"])
    row = {
        "protocol": grid.protocol,
        "origins": grid.origins,
        "group": group.kind,
        "smallest": group.smallest,
        "largest": group.largest,
        "models": count,
        "families": about["family"].nunique(),
        "pairs_of_models": count * (count - 1) // 2,
        "value": float(compute_mean(np.ones(count, dtype=bool))),
        "families_low": float(reach.low.clip(-1)),
        "families_high": float(reach.high.clip(None, 1)),
        "groups": reach.groups,
        "of": reach.of,
    }
    if group.kind == LIKE:
        return row | {"pairs_of_models": len(pair_like(about["parameters"])[0])}
    ceilings = ceiling_of_pairs(grid.errors.part(scores), max(draws // 5, 10), seed)
    known = kendall_matrix(scores).notna()  # over the pairs of tasks that the mean is over
    return row | {"ceiling": mean_of_pairs(ceilings.where(known))}


def _agree(scores: pd.DataFrame, grid: Grid, kind: str) -> pd.DataFrame:
    if kind != LIKE:
        return kendall_matrix(scores)
    like = pair_like(grid.models.loc[scores.index, "parameters"])
    return kendall_matrix(scores, draw_pairs(like))


def name_groups(table: pd.DataFrame) -> list[str]:
    names = {ALL: "all models", LIKE: "pairs of like size"}
    return [
        names.get(kind) or f"{plots.format_size(low)} to {plots.format_size(high)}"
        for kind, low, high in zip(table["group"], table["smallest"], table["largest"], strict=True)
    ]


def find_largest_band(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the band with the most models, each with its protocol's key in numbers of prose."""
    known = add_keys(table[table["group"] == BAND])
    most = known["smallest"][known["models"] == known["models"].max()]
    return known[known["smallest"].isin(most.iloc[:1])]


def add_keys(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(key=table["protocol"].map(frame.KEYS)).dropna(subset=["key"])


def tell_by_size(table: pd.DataFrame, study: str) -> Values:
    """Tell in prose the mean over pairs of like size, and that within the band of the most models."""
    values: Values = {}
    band = find_largest_band(table)
    for name, row in zip(name_groups(band), band.itertuples(), strict=True):
        values |= {
            f"{study}.size_band": name,
            f"{study}.size_models": row.models,
            f"{study}.{row.key}.within": row.value,
            f"{study}.{row.key}.within_ceiling": row.ceiling,
            f"{study}.{row.key}.within_rising": row.rising,
        }
    like = add_keys(table[table["group"] == LIKE])
    for row in like.itertuples():
        values |= {
            f"{study}.{row.key}.like": row.value,
            f"{study}.{row.key}.like_low": row.families_low,
            f"{study}.{row.key}.like_high": row.families_high,
            f"{study}.like_pairs": like["pairs_of_models"].max(),
        }
    return values


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Of": name_groups(table),
        "Models": numbers(table["models"], "d"),
        "Families": numbers(table["families"], "d"),
        "Pairs of models": numbers(table["pairs_of_models"], ",d"),
        "Mean tau-b": numbers(table["value"]),
        "Over families": format_intervals(table),
        "Ceiling": numbers(table["ceiling"]),
        "Rising (%)": percents(table["rising"], ".0f"),
    }


def plot_by_size(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot groups of models down, mean tau-b across; a tick of the same colour is the ceiling."""
    names = pd.Series(name_groups(table), table.index)
    most = table.groupby(names)["models"].transform("max")
    table = table.assign(named=names + "\n" + most.astype(str) + " models")
    with drawing(files, 6.5, 1.4 + 0.42 * max(table["named"].nunique(), 3)) as (fig, axes):
        ends = "value", "families_low", "families_high"
        plots.draw_intervals(fig, axes, table, settings.grid, ends, "ceiling")
        axes.set_xlabel("mean tau-b of two tasks, with its 95% interval")


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
    by_size = compute_by_size(read_grids(cells, models), of_grid, bootstrap_draws, seed)
    note = frame.describe_draws(_NOTE, by_size, of_grid)
    title = frame.make_title("Agreement of tasks within sizes", of_grid)
    write_table(by_size, table, title=title, note=note, shown=format_columns(by_size, of_grid))
    plot_by_size(by_size, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
