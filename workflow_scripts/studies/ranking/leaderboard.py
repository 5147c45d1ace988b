"""Rank the models of the Harmony study by the first component of their scores, by protocol."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render import frames
from workflow_scripts.stats.missing import MIN_SCORES
from workflow_scripts.stats.principal import compute_principal_components
from workflow_scripts.stats.ranks import MIN_DRAWS, compute_rank_ranges, rank_values
from workflow_scripts.studies.ranking import grid_tables, plots
from workflow_scripts.studies.ranking.grid import Grid, Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_NOTE = (
    "Models ranked by PC1, 100 times the first principal component of the standardised scores, within each"
    f" protocol; in brackets the 95% interval of the rank with test items resampled{grid_tables.RETRAINED_CLAUSE} (from"
    f" {MIN_DRAWS} replicates where there are thousands of models). PC1 of different protocols, or of different"
    " sets of models, is not on one scale. Scores in percent (of the metric's highest value). train-before-test has"
    " raw scores, the clipped protocol the better of these and the zero-shot ones; imported scores are as in their"
    " source, and the published leaderboard looks clipped. Origin: own runs, or the file that scores were imported"
    " from. A dash is a missing cell. For PC1 and rank it is estimated from the model's other scores and those of"
    f" all models, and the error of the estimate widens the interval; such a rank has a {grid_tables.ESTIMATED_MARK},"
    f" and the last column names the cells. A model with fewer than {MIN_SCORES} scores, or on fewer than half of the"
    f" tasks, or without a score on a task that fewer than {MIN_SCORES} models have, has no PC1. Missing standard"
    " errors are those of the nearest scores; the last column counts them."
)
_MODEL_COLUMNS = ["model", "variant", "origin", "family", "parameters", "kind", "tokens_billion"]
_TOO_FEW = "a ranking needs two models with enough tasks and different scores"


def compute_leaderboard(grids: Grids, draws: int, seed: int) -> pd.DataFrame:
    """Compute one row per protocol and model, best first, with unranked models at the end.

    `draws` is the number of bootstrap samples for the intervals of ranks.
    """
    tasks = list(dict.fromkeys(task for grid in grids.values() for task in grid.scores))
    tables = [_rank_models(grid, tasks, draws, seed) for grid in grids.values()]
    return pd.concat(tables, ignore_index=True)


def compute_pc1(grid: Grid) -> pd.Series:
    """Compute PC1 of the models with enough scores; empty if fewer than two models or no task on which they differ."""
    if len(grid.ranked) < 2 or grid.ranked.empty:
        return pd.Series(index=grid.ranked.index[:0], dtype=float)
    return compute_principal_components(grid.ranked).scores[grid_tables.FIRST_COMPONENT]


def _rank_models(grid: Grid, tasks: list[str], draws: int, seed: int) -> pd.DataFrame:
    """Compute one row per model of a protocol, with its rank, what is missing, and its scores on `tasks`."""
    pc1 = compute_pc1(grid)
    completed = grid.completed
    measured = grid.measured
    table = grid.models[_MODEL_COLUMNS].rename_axis("label").assign(pc1=pc1, rank=rank_values(pc1))
    ranges = pd.DataFrame(columns=["low", "high"], dtype=float)
    if len(pc1):
        ranges = compute_rank_ranges(completed.errors.select(grid.ranked), draws=draws, seed=seed)
    table = table.join(ranges.add_prefix("rank_"))
    missing = measured.isna().sum(axis=1)
    reason = missing.astype(str) + f" of {measured.shape[1]} tasks missing"
    reason = reason.where(missing > 0, _TOO_FEW if len(measured.columns) else "no scores")
    is_ranked = table["rank"].notna()
    table["reason"] = reason.mask(is_ranked, "")
    table["filled"] = _join_tasks(completed.filled).where(is_ranked, "")
    lacks_stderr = measured.notna() & grid.stderrs[measured.columns].isna()
    table["errors_filled"] = (lacks_stderr & completed.errors.stderrs.notna()).sum(axis=1)
    table["missing"] = _join_tasks(grid.absent)
    errors = grid.stderrs.reindex(columns=tasks).add_suffix(grid_tables.STDERR_SUFFIX)
    table = table.join(grid.scores.reindex(columns=tasks)).join(errors).reset_index()
    table.insert(0, "protocol", grid.protocol)
    return table.sort_values(["rank", "label"], kind="stable", ignore_index=True)


def _join_tasks(is_chosen: pd.DataFrame) -> pd.Series:
    """Join the names of each model's chosen tasks (columns) by spaces."""
    tasks = [" ".join(is_chosen.columns[row]) for row in is_chosen.to_numpy(bool)]
    return pd.Series(tasks, is_chosen.index, dtype=object)


def format_ranks(
    rank: pd.Series, low: pd.Series, high: pd.Series, marks: pd.Series | str = ""
) -> pd.Series:
    """Format ranks, each with its mark and, if known, its interval in brackets: 3† (2–5)."""
    ranges = [
        "" if pd.isna(first) else f" ({first:.0f}–{last:.0f})"
        for first, last in zip(low, high, strict=True)
    ]
    return (rank.map("{:.0f}".format) + marks + ranges).where(rank.notna(), None)


def describe_missing(row: frames.Row, names: Mapping[str, str]) -> str:
    """Describe why a model is not ranked, or which of its scores are estimated; `names` has the names of tasks."""
    filled = [names.get(task, task) for task in (row["filled"] or "").split()]
    texts = [row["reason"], f"estimated: {', '.join(filled)}" * bool(filled)]
    texts.append(f"{row['errors_filled']} standard errors estimated" * bool(row["errors_filled"]))
    return "; ".join(filter(None, texts))


def plot_bump(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot ranks by protocol with one line per model, opaque where its rank intervals do not overlap."""
    table = table.dropna(subset=["rank"])
    protocols = plots.list_protocols(table, settings)
    plots.plot_ranks(
        {"": table[table["protocol"].isin(protocols)]} if protocols else {},
        "protocol",
        {protocol: settings.protocol_names[protocol] for protocol in protocols},
        ("rank", "rank_low", "rank_high"),
        files,
        width=1.6 + 2.6 * len(protocols),
        placeholder="Fewer than two models are ranked under a protocol.",
        columns=4,
    )


@validate_call
def main(
    grid: Path,
    table: list[Path],
    figure: list[Path],
    settings: GridSettings,
    num_bootstrap: int,
    seed: int,
) -> None:
    ranking = compute_leaderboard(read_grids(grid), num_bootstrap, seed)
    marks = ranking["filled"].map(lambda filled: grid_tables.ESTIMATED_MARK if filled else "")
    names = settings.task_names
    shown = {
        "Protocol": "{protocol}",
        "Rank": format_ranks(ranking["rank"], ranking["rank_low"], ranking["rank_high"], marks),
        "Model": "{model}{variant}",
        "Origin": "{origin}",
        "PC1": "{pc1:.2f}",
        **{name: f"{{{task}:.1%}}" for task, name in names.items() if task in ranking},
        "Missing": [describe_missing(row, names) for row in frames.convert_rows(ranking)],
    }
    title = "Harmony leaderboard"
    grid_tables.write_grid_table(ranking, table, settings, title=title, note=_NOTE, shown=shown)
    plot_bump(ranking, settings, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
