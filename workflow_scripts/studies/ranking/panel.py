"""Place each model on a panel (the published 61 models or another) from the tasks it was measured on."""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.scores.panel import read_panel_scores
from workflow_scripts.stats.placement import fit_panel, place_model
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import write_grid_table
from workflow_scripts.studies.ranking.leaderboard import format_ranks

_NOTE = (
    "PC1 that a model would have on the panel (the published leaderboard of 61 models on 24 tasks, fine-tuned and"
    " clipped, unless harmony.panel names another), predicted from the tasks it was measured on, with a 95%"
    " interval for a model of a new family, and the ranks this spans. The place of a model with scores outside of the"
    " panel's range is unreliable. Generated (miniature) models answer generated questions: their place demonstrates"
    " the method."
)
_COLUMNS = ["protocol", "model", "variant", "origin", "tasks", "panel_tasks", "pc1", "low", "high"]
_COLUMNS += ["rank", "best_rank", "worst_rank", "outside"]


def place_models(grids: Grids, panel: pd.DataFrame, families: pd.Series) -> pd.DataFrame:
    """Compute one row per protocol and model that shares a task with the panel, without the panel's own scores.

    `families` has the family of each panel model. The prediction is fitted once for each set of tasks.
    """
    rows = []
    fits = {}
    for grid in grids.values():
        panel_tasks = [task for task in grid.measured if task in panel]
        for label, model in grid.models.iterrows():
            scores = grid.scores.loc[label, panel_tasks].dropna()
            tasks = tuple(scores.index)
            on_panel = panel.reindex([model["model"]])[list(tasks)]
            if not tasks or np.allclose(scores, on_panel):  # the panel's own scores, imported
                continue
            if tasks not in fits:
                fits[tasks] = fit_panel(panel, list(tasks), families)
            placement = place_model(scores, grid.stderrs.loc[label], fits[tasks])
            row = {"protocol": grid.protocol, **model[["model", "variant", "origin"]]}
            row |= {"tasks": len(tasks), "panel_tasks": panel.shape[1], **placement}
            rows.append(row | {"outside": " ".join(placement["outside"])})
    return pd.DataFrame(rows, columns=_COLUMNS)


@validate_call
def main(
    grid: Path,
    panel: Path,
    table: list[Path],
    settings: GridSettings,
    families: dict[str, str],
) -> None:
    """Place the models of a grid. `families` has the family of each known model."""
    grids = read_grids(grid)
    # The grid may know the families of further panel models.
    more_families = pd.concat([grid.models.set_index("model")["family"] for grid in grids.values()])
    all_families = pd.Series(more_families.dropna().to_dict() | families, dtype=object)
    scores = read_panel_scores(panel, settings.metrics)
    placed = place_models(grids, scores, all_families)
    shown = {
        "Protocol": "{protocol}",
        "Model": "{model}{variant}",
        "Origin": "{origin}",
        "Tasks": "{tasks} of {panel_tasks}",
        "PC1": "{pc1:.0f}",
        "Interval": "{low:.0f} to {high:.0f}",
        "Rank": format_ranks(placed["rank"], placed["best_rank"], placed["worst_rank"]),
        "Outside the panel": [
            ", ".join(settings.task_names[task] for task in row.split())
            for row in placed["outside"]
        ],
    }
    title = "Place on the panel"
    write_grid_table(placed, table, settings, title=title, note=_NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
