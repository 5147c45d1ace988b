"""Compute the agreement of tasks among models of similar size."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.numbers import Values
from workflow_scripts.stats.agreement import (
    average_pairs,
    compute_kendall_matrix,
    compute_mean_agreement,
    count_rising_pairs,
    select_shared_cells,
)
from workflow_scripts.stats.redraws import compute_agreement_ceiling
from workflow_scripts.studies.ranking import grid_tables
from workflow_scripts.studies.ranking.agreement import (
    FAMILY_INTERVAL,
    compute_family_interval,
)
from workflow_scripts.studies.ranking.grid import Grid, Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.plots import format_size

ALL = "all"
BAND = "band"
FACTOR = 2.0  # between the ends of a band
_BAND_END = 5e9  # parameters; the other bands' ends are this times powers of FACTOR
MIN_BAND_MODELS = 6  # fewest models of a band
_NOTE = (
    "Mean of Kendall's tau-b over pairs of different tasks, of all models and of those in a band: between two sizes"
    f" a factor of {FACTOR:.0f} apart, if there are {MIN_BAND_MODELS} or more. The 95% interval is over model families"
    " (their number in brackets; over models where there are fewer than four families). Ceiling: the noise ceiling, the"
    f" agreement of tasks that differ in nothing but resampled test items{grid_tables.RETRAINED_CLAUSE}. Rising: pairs"
    " of tasks whose agreement is higher than zero-shot, over the cells that both protocols have."
)


class Group(NamedTuple):
    """All models with a score, or those of a band of sizes."""

    group: str
    """ALL or BAND."""
    smallest: float
    """Low end of the band, in parameters; NaN for all models."""
    largest: float
    models: pd.Index
    """Labels of the models."""


def group_models(grid: Grid) -> list[Group]:
    """List the group of all models with a score, then each size band, smallest first: ..., 2.5 to 5, 5 to 10 B.

    Each band includes its low end and excludes its high end. The ends are the same for every grid. Bands of fewer
    than MIN_BAND_MODELS models and models of unknown size are left out.
    """
    scored = grid.measured.dropna(how="all").index
    sizes = grid.models.loc[scored, "parameters"].dropna().astype(float)
    steps = np.floor(np.log(sizes / _BAND_END) / np.log(FACTOR) + 1e-9)
    bands = [
        Group(BAND, _BAND_END * FACTOR**step, _BAND_END * FACTOR ** (step + 1), models.index)
        for step, models in sizes.groupby(steps)
        if len(models) >= MIN_BAND_MODELS
    ]
    return [Group(ALL, np.nan, np.nan, scored), *bands]


def compute_by_size(grids: Grids, settings: GridSettings, draws: int, seed: int) -> pd.DataFrame:
    """Compute one row per protocol and group of models: all, and each size band."""
    direct = grids.get(settings.reference_protocol)
    rows = []
    for grid in grids.values():
        for group in group_models(grid):
            row = _describe_group(grid, group, draws, seed)
            row |= {"rising": np.nan, "pairs": np.nan}
            if direct and grid is not direct:
                shared = select_shared_cells(direct.scores, grid.scores.loc[group.models])
                row["rising"], row["pairs"] = count_rising_pairs(
                    *map(compute_kendall_matrix, shared)
                )
            rows.append(row)
    return pd.DataFrame(rows)


def _describe_group(grid: Grid, group: Group, draws: int, seed: int) -> dict[str, Any]:
    scores = grid.measured.loc[group.models]
    families = grid.models.loc[group.models, "family"]
    interval = compute_family_interval(
        lambda is_kept: compute_mean_agreement(scores[is_kept]), families
    )
    row = {"protocol": grid.protocol, "origins": grid.origins, **group._asdict()}
    row |= {"models": len(scores), "families": families.nunique()} | interval
    ceilings = compute_agreement_ceiling(grid.errors.select(scores), max(draws // 5, 10), seed)
    defined = compute_kendall_matrix(scores).notna()  # the pairs of tasks in the mean
    return row | {"ceiling": average_pairs(ceilings.where(defined))}


def name_groups(table: pd.DataFrame) -> list[str]:
    """Name the group of each row: `all models`, or the sizes of its band, such as `2.5B to 5B`."""
    return [
        "all models" if kind == ALL else f"{format_size(low)} to {format_size(high)}"
        for kind, low, high in table[["group", "smallest", "largest"]].to_numpy()
    ]


def find_largest_band(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each protocol's band with the most models."""
    bands = table[table["group"] == BAND]
    largest = bands["smallest"][bands["models"] == bands["models"].max()]
    return bands[bands["smallest"].isin(largest.iloc[:1])]


def summarize_sizes(table: pd.DataFrame, study: str) -> Values:
    """Return the named mean agreement within the band with the most models."""
    band = find_largest_band(table)
    columns = ["value", "ceiling", "rising"]
    return {
        f"{study}.size_band": next(iter(name_groups(band)), None),
        f"{study}.size_models": band["models"].max(),
        **grid_tables.name_numbers(band, study, ["protocol", "group"], columns),
    }


@validate_call
def main(
    grid: Path,
    table: list[Path],
    settings: GridSettings,
    num_bootstrap: int,
    seed: int,
) -> None:
    by_size = compute_by_size(read_grids(grid), settings, num_bootstrap, seed)
    grid_tables.write_grid_table(
        by_size,
        table,
        settings,
        title="Agreement of tasks within sizes",
        note=_NOTE,
        shown={
            "Protocol": "{protocol}",
            "Of": name_groups(by_size),
            "Models": "{models}",
            "Families": "{families}",
            "Mean tau-b": "{value:.3f}",
            "Over families": FAMILY_INTERVAL,
            "Ceiling": "{ceiling:.3f}",
            "Rising (%)": "{rising:.0%}",
        },
    )


if "snakemake" in globals():
    run_job(main, snakemake)
