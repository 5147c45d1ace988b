"""Split the variance of a grid's scores, of all models and in size bands, and count the tasks that a ranking needs."""

from pathlib import Path

import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.numbers import Values
from workflow_scripts.scores.published_leaderboard import read_wide_scores
from workflow_scripts.stats.variance import (
    PARTS,
    TARGET_RELIABILITY,
    count_tasks_needed,
    decompose_variance,
    estimate_training_variance,
)
from workflow_scripts.studies.ranking.agreement_by_size import (
    ALL,
    find_largest_band,
    group_models,
    name_groups,
)
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import name_numbers, write_grid_table

_NOTE = (
    "Shares of the variance of the scores, each task standardised over the models of the row, by a two-way"
    " decomposition (method of moments). Model: common to all tasks. Together: the interaction of model and task,"
    " less what items and training explain; 0 where these explain more. Items: from the standard errors, as if each"
    " model had items of its own, which overestimates where all answer the same. Training: from the seeds of a cell"
    " or from two releases of scores; where it is unknown, a dash, it is part of together. Reliability: the"
    " expected correlation of the mean over these tasks with the mean over as many others of the kind. Tasks"
    f" for {TARGET_RELIABILITY}: how many tasks the mean needs for that reliability."
)


def compute_variance(
    grids: Grids, settings: GridSettings, second_release: pd.DataFrame | None
) -> pd.DataFrame:
    """Compute one row per protocol and group of models (`decompose_variance`).

    The training variance is estimated from the second release, if there is one.
    """
    release = settings.release
    rows = []
    for grid in grids.values():
        for group in group_models(grid):
            scores = grid.measured.loc[group.models]
            errors = grid.errors.select(scores)
            training = None
            if errors.training_sd.to_numpy().any():
                training = errors.training_sd**2
            if second_release is not None and release and release.protocol == grid.protocol:
                training = estimate_training_variance(scores, second_release)
            variance = decompose_variance(scores, errors.item_stderrs, training)
            needed = count_tasks_needed(variance["observed"], variance["left"])
            row = {"protocol": grid.protocol, "origins": grid.origins, **group._asdict()}
            rows.append(row | {"models": len(scores), **variance, "tasks_needed": needed})
    return pd.DataFrame(rows)


def summarize_variance(table: pd.DataFrame, study: str) -> Values:
    """Return named variance fractions and needed tasks, for all models and for the band with the most models."""
    rows = pd.concat([table[table["group"] == ALL], find_largest_band(table)])
    return name_numbers(rows, study, ["protocol", "group"], [*PARTS, "tasks_needed"])


@validate_call
def main(
    grid: Path,
    table: list[Path],
    settings: GridSettings,
    release: Path | tuple[()] | None,
) -> None:
    """Write the table; `release` is empty for a grid without a second release."""
    second_release = read_wide_scores(release) if release else None
    variance = compute_variance(read_grids(grid), settings, second_release)
    shown = {
        "Protocol": "{protocol}",
        "Of": name_groups(variance),
        "Models": "{models}",
        "Tasks": "{tasks}",
        "Model (%)": "{model:.1%}",
        "Model and task together (%)": "{together:.1%}",
        "Items (%)": "{items:.1%}",
        "Training (%)": "{training:.1%}",
        "Reliability": "{reliability:.3f}",
        f"Tasks for {TARGET_RELIABILITY:g}": "{tasks_needed:,.0f}",
    }
    title = "Sources of the variance of scores"
    write_grid_table(variance, table, settings, title=title, note=_NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
