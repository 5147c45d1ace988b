"""The leaderboard of the Harmony study: rank, first component, and every score, by protocol."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_placeholder, drawing
from workflow_scripts.render.frames import Cells, cells
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.stats.missing import FEWEST
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import FEWEST_DRAWS, rank_ranges, ranks, tiers
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_NOTE = (
    "Models ranked by PC1, 100 times the first principal component of the standardised scores, within"
    " each protocol; in brackets the ranks between which a model lies, each by itself with 95%, when all"
    f" are asked other items{{trainings}} (of very many models drawn {FEWEST_DRAWS} times or more). Ranges that hold"
    " for all models at once are wider (columns"
    " rank_joint of the CSV); models of one tier are not parted by them. PC1 of different"
    " protocols, or of different sets of models, is"
    " not on one scale. Scores in percent (of the metric's highest value). train-before-test shows raw"
    " scores, the floored protocol the better of these and the direct ones; imported scores are as"
    " their source has them, and the published leaderboard looks floored. Origin: own runs, or the"
    " file that scores were imported from. A dash is a missing cell. For PC1 and rank it is estimated from the"
    " model's other scores and those of all models, and how unsure that is widens the ranks; such a rank has"
    f" a {frame.ESTIMATED}, and the last column names the cells. A model with fewer than"
    f" {FEWEST} scores, or on fewer than half of the tasks, has no PC1, and so have models whose cell nothing"
    " can be said of, because fewer models than that have the task. Standard errors that are missing are those"
    " of the scores nearest to them; the last column counts them."
)
_ABOUT = ["model", "variant", "origin", "family", "parameters", "kind", "tokens_billion"]
_RANGES = ["rank_low", "rank_high", "rank_joint_low", "rank_joint_high"]
_TOO_FEW = "fewer than two models that have all tasks, or enough to estimate the others, differ"


def compute_leaderboard(grids: dict[str, Grid], draws: int, seed: int) -> pd.DataFrame:
    """Compute a row per protocol and model, best first, models without a rank at the end."""
    tasks = list(dict.fromkeys(task for grid in grids.values() for task in grid.values))
    tables = [_rank_models(grid, tasks, draws, seed) for grid in grids.values()]
    return pd.concat(tables, ignore_index=True)


def compute_pc1(grid: Grid) -> pd.Series:
    """Compute PC1 of the models that have all tasks, or enough; of none where fewer than two of them differ."""
    if len(grid.ranked) < 2 or not grid.ranked.shape[1]:
        return pd.Series(index=grid.ranked.index[:0], dtype=float)
    return principal_components(grid.ranked).scores[frame.FIRST_COMPONENT]


def _rank_models(grid: Grid, tasks: list[str], draws: int, seed: int) -> pd.DataFrame:
    table = grid.models[_ABOUT].rename_axis("label").assign(pc1=compute_pc1(grid))
    table["rank"] = ranks(table["pc1"])
    ranked, completed = table["rank"].notna(), grid.completed
    table[[*_RANGES, "tier"]] = float("nan")
    if ranked.any():
        ranges = rank_ranges(completed.errors.part(grid.ranked), draws=draws, seed=seed)
        ranges["tier"] = tiers(ranges["joint_low"], ranges["joint_high"])
        table[[*_RANGES, "tier"]] = ranges
    lacking, measured = grid.measured.isna().sum(axis=1), grid.measured.shape[1]
    reasons = lacking.map(f"{{}} of {measured} tasks missing".format).where(lacking > 0, _TOO_FEW)
    table["reason"] = np.where(ranked, "", reasons if measured else "no scores")
    table["filled"] = _join_tasks(completed.filled).where(ranked, "")
    unknown = grid.measured.notna() & grid.stderrs[grid.measured.columns].isna()
    table["errors_filled"] = (unknown & completed.errors.stderrs.notna()).sum(axis=1)
    table["missing"] = _join_tasks(grid.absent)
    errors = grid.stderrs.reindex(columns=tasks).add_suffix(frame.ERROR)
    table = table.join(grid.values.reindex(columns=tasks)).join(errors).reset_index()
    table.insert(0, "protocol", grid.protocol)
    return table.sort_values(["rank", "label"], kind="stable", ignore_index=True)


def _join_tasks(chosen: pd.DataFrame) -> pd.Series:
    return chosen.apply(lambda row: " ".join(chosen.columns[row.astype(bool)]), axis=1).astype(
        object
    )


def format_rank(rank: float, low: float, high: float, mark: str = "") -> str | None:
    """The rank, in brackets those between which it lies, where they are known."""
    if pd.isna(rank):
        return None
    return f"{rank:.0f}{mark}" if pd.isna(low) else f"{rank:.0f}{mark} ({low:.0f}–{high:.0f})"


def what_is_missing(row: Cells, names: Mapping[str, str]) -> str:
    """Tell why a model is not ranked, or what of it is estimated."""
    filled = [names.get(task, task) for task in (row["filled"] or "").split()]
    texts = [row["reason"], f"estimated: {', '.join(filled)}" * bool(filled)]
    texts.append(f"{row['errors_filled']} standard errors estimated" * bool(row["errors_filled"]))
    return "; ".join(text for text in texts if text)


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    names = {task: name for task, name in settings.names.items() if task in table}
    marks = [frame.ESTIMATED if filled else "" for filled in table["filled"]]
    ranked = zip(table["rank"], table["rank_low"], table["rank_high"], marks, strict=True)
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Rank": [format_rank(*row) for row in ranked],
        "Tier": numbers(table["tier"], ".0f"),
        "Model": table["model"] + table["variant"],
        "Origin": table["origin"],
        "PC1": numbers(table["pc1"], ".2f"),
        **{name: percents(table[task]) for task, name in names.items()},
        "Missing": [what_is_missing(row, names) for row in cells(table)],
    }


def plot_bump(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a column per protocol, best on top; a line per model, strong where its ranges of ranks do not meet."""
    table = table.dropna(subset=["rank"])
    table = table.assign(name=plots.shorten_names(table), family=table["family"].fillna("other"))
    protocols = plots.shown_protocols(table, settings.grid)
    table = table[table["protocol"].isin(protocols)]
    names = {protocol: settings.grid.names[protocol] for protocol in protocols}
    looks, width = plots.color_families(table), 3.2 + 2.6 * max(len(protocols), 1)
    with drawing(files, width, plots.rank_height(table["label"].nunique())) as (fig, axes):
        if not protocols:
            draw_placeholder(axes, "Fewer than two models are ranked under a protocol.")
            return
        ends = "rank", "rank_low", "rank_high"
        plots.draw_ranks(axes, table, "protocol", names, looks, ends)
        plots.explain_families(fig, axes, table, looks, 4)


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
    leaderboard = compute_leaderboard(read_grids(cells, models), bootstrap_draws, seed)
    note = _NOTE.format(trainings=frame.TRAININGS[of_grid.trainings])
    shown = format_columns(leaderboard, of_grid)
    write_table(leaderboard, table, title="Harmony leaderboard", note=note, shown=shown)
    plot_bump(leaderboard, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
