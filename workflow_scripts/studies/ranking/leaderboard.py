"""The leaderboard of the Harmony study: rank, first component, and every score, by protocol."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import drawing, say_empty
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
    """One row per protocol and model, best first, models without a rank at the end."""
    tasks = list(dict.fromkeys(task for grid in grids.values() for task in grid.values))
    found = [_rank_models(grid, tasks, draws, seed) for grid in grids.values()]
    return pd.concat(found, ignore_index=True)


def compute_pc1(grid: Grid) -> pd.Series:
    """Of the models that have all tasks, or enough of them; of none where fewer than two of them differ."""
    if len(grid.ranked) < 2 or not grid.ranked.shape[1]:
        return pd.Series(index=grid.ranked.index[:0], dtype=float)
    return principal_components(grid.ranked).scores[frame.FIRST_COMPONENT]


def _rank_models(grid: Grid, tasks: list[str], draws: int, seed: int) -> pd.DataFrame:
    table = grid.models[_ABOUT].rename_axis("label")
    table[["pc1", "rank", *_RANGES, "tier"]] = float("nan")
    table[["reason", "missing", "filled"]] = ""
    pc1, completed = compute_pc1(grid), grid.completed
    if len(pc1):
        table["pc1"], table["rank"] = pc1, ranks(pc1)
        ranges = rank_ranges(completed.errors.part(grid.ranked), draws=draws, seed=seed)
        table[_RANGES] = ranges[[name.removeprefix("rank_") for name in _RANGES]]
        table["tier"] = tiers(ranges["joint_low"], ranges["joint_high"])
        table["filled"] = _join_tasks(completed.filled).where(table["pc1"].notna(), "")
    table["missing"] = _join_tasks(grid.absent)
    of_measured = grid.absent[grid.measured.columns]
    unasked = (grid.measured.isna() & ~of_measured).sum(axis=1)
    for label in table.index[table["rank"].isna()]:
        reason = _give_reason(
            grid.measured.shape[1], int(unasked[label]), int(of_measured.loc[label].sum())
        )
        table.loc[label, "reason"] = reason or (_TOO_FEW if pc1.empty else "")
    unsaid = grid.measured.notna() & grid.stderrs[grid.measured.columns].isna()
    table["errors_filled"] = (unsaid & completed.errors.stderrs.notna()).sum(axis=1)
    values = grid.values.reindex(columns=tasks)
    errors = grid.stderrs.reindex(columns=tasks).add_suffix(frame.ERROR)
    table = table.join(values).join(errors).reset_index()
    table.insert(0, "protocol", grid.protocol)
    return table.sort_values(["rank", "label"], kind="stable", ignore_index=True)


def _join_tasks(chosen: pd.DataFrame) -> pd.Series:
    names = [" ".join(chosen.columns[row]) for row in chosen.to_numpy(bool)]
    return pd.Series(names, chosen.index, dtype=object)


def _give_reason(tasks: int, unasked: int, absent: int) -> str:
    """Why a model has no PC1."""
    if not tasks:
        return "no scores"
    counts = {"not asked of it": unasked, "missing": absent}
    return ", ".join(f"{count} of {tasks} tasks {what}" for what, count in counts.items() if count)


def format_rank(rank: float, low: float, high: float, mark: str = "") -> str | None:
    """The rank, in brackets those between which it lies, where they are known."""
    if pd.isna(rank):
        return None
    return f"{rank:.0f}{mark}" if pd.isna(low) else f"{rank:.0f}{mark} ({low:.0f}–{high:.0f})"


def what_is_missing(row: Cells, names: Mapping[str, str]) -> str:
    """Why a model is not ranked, or what of it is estimated; one that lacks all cells is not listed task by task."""
    filled, missing = (
        [names.get(task, task) for task in (row[name] or "").split()]
        for name in ("filled", "missing")
    )
    if filled:
        said = [f"estimated: {', '.join(filled)}"]
    else:
        lacking = "all" if missing and len(missing) == len(names) else ", ".join(missing)
        said = [": ".join(part for part in (row["reason"], lacking) if part)]
    if row["errors_filled"]:
        said.append(f"{row['errors_filled']} standard errors estimated")
    return "; ".join(part for part in said if part)


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
    """One column per protocol, best on top; a line per model, strong where its ranges of ranks do not meet."""
    table = table.dropna(subset=["rank"])
    table = table.assign(name=plots.shorten_names(table), family=table["family"].fillna("other"))
    protocols = plots.shown_protocols(table, settings.grid)
    titles = plots.title_protocols(table, settings.grid)
    table = table[table["protocol"].isin(protocols)]
    looks, width = plots.color_families(table), 3.2 + 2.6 * max(len(protocols), 1)
    models = table.drop_duplicates("label").sort_values("label")
    with drawing(files, width, plots.rank_height(len(models))) as (fig, axes):
        if not protocols:
            say_empty(axes, "Fewer than two models are ranked under a protocol.")
            return
        ends = (
            table.pivot(index="label", columns="protocol", values=name)[protocols].to_numpy(float)
            for name in ("rank", "rank_low", "rank_high")
        )
        plots.draw_ranks(axes, plots.RankedColumns(models["name"], models["family"], *ends), looks)
        axes.set_xticks(range(len(protocols)), [titles[one] for one in protocols])
        plots.explain_families(fig, axes, table, looks, 4)


def main(
    cells: Path,
    models: Path,
    table: list[Path],
    bump: list[Path],
    settings: dict[str, Any],
    bootstrap_draws: int,
    seed: int,
) -> None:
    of_grid = GridSettings.of(settings)
    leaderboard = compute_leaderboard(read_grids(cells, models), bootstrap_draws, seed)
    note = _NOTE.format(trainings=frame.TRAININGS[of_grid.trainings])
    shown = format_columns(leaderboard, of_grid)
    write_table(leaderboard, table, title="Harmony leaderboard", note=note, shown=shown)
    plot_bump(leaderboard, of_grid, bump)


if "snakemake" in globals():
    run_job(main, snakemake)
