"""The leaderboard of the Harmony study: rank, first component, and every score, by protocol."""

from collections.abc import Mapping

import pandas as pd

from workflow_scripts.render.frames import Cells, cells, columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.stats.missing import FEWEST
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import FEWEST_DRAWS, MOST_RANKS, rank_ranges, ranks, tiers
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import Grid, read_grids, tasks_of_true
from workflow_scripts.studies.ranking.requests import RankingRequest

NOTE = (
    "Models ranked by PC1, 100 times the first principal component of the standardised scores, within"
    " each protocol; in brackets the ranks between which a model lies, each by itself with 95%, when all"
    " are asked other items{trainings}. Ranges that hold for all models at once are wider (columns"
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
COLUMNS = columns(
    ("text", "protocol label model variant origin"),
    ("maybe", "family"),
    ("whole", "parameters"),
    ("maybe", "kind"),
    ("number", "tokens_billion"),
    ("number", "pc1 rank rank_low rank_high rank_joint_low rank_joint_high tier"),
    ("text", "reason missing filled"),
    ("whole", "errors_filled"),
    like={frame.TASK_NAME: "number"},  # each task's score, and its standard error
)
_ABOUT = ["model", "variant", "origin", "family", "parameters", "kind", "tokens_billion"]
_RANGES = ["rank_low", "rank_high", "rank_joint_low", "rank_joint_high"]
_TOO_FEW = "fewer than two models that have all tasks, or enough to estimate the others, differ"


def leaderboard(grids: dict[str, Grid], request: RankingRequest) -> pd.DataFrame:
    """One row per protocol and model, best first, models without a rank at the end."""
    tasks = list(dict.fromkeys(task for grid in grids.values() for task in grid.values))
    return pd.concat(
        [_of_protocol(grid, tasks, request) for grid in grids.values()], ignore_index=True
    )


def ranked_scores(grid: Grid) -> pd.DataFrame:
    """The scores that components are made of: missing ones estimated, tasks on which models differ at all."""
    scores = grid.completed.errors.scores.dropna()
    return scores.loc[:, scores.nunique() > 1]


def first_component(grid: Grid) -> pd.Series:
    """Of the models that have all tasks, or enough of them; of none where fewer than two of them differ."""
    scores = ranked_scores(grid)
    if len(scores) < 2 or not scores.shape[1]:
        return pd.Series(index=scores.index[:0], dtype=float)
    return principal_components(scores).scores[frame.FIRST_COMPONENT]


def _of_protocol(grid: Grid, tasks: list[str], request: RankingRequest) -> pd.DataFrame:
    table = grid.models[_ABOUT].rename_axis("label")
    table[["pc1", "rank", *_RANGES, "tier"]] = float("nan")
    absent, lacking = set(grid.absent), grid.lacking()
    reasons = {label: _reason(grid, label, lacking[label], absent) for label in table.index}
    scores, filled = ranked_scores(grid), dict.fromkeys(table.index, "")
    if len(pc1 := first_component(grid)):
        table["pc1"] = pc1
        table["rank"] = ranks(pc1)
        tasks_of = tasks_of_true(grid.completed.filled)
        filled |= {label: " ".join(tasks_of[label]) for label in pc1.index}
        errors = grid.completed.errors.part(scores)
        ranges = rank_ranges(errors, draws=request.draws, seed=request.seed)
        table[_RANGES] = ranges[[name.removeprefix("rank_") for name in _RANGES]]
        table["tier"] = tiers(ranges["joint_low"], ranges["joint_high"])
    else:
        reasons = {label: reason or _TOO_FEW for label, reason in reasons.items()}
    missing: dict[str, list[str]] = {label: [] for label in table.index}
    for label, task in grid.absent:
        missing[label].append(task)
    table["reason"] = pd.Series(reasons).where(table["rank"].isna(), "")
    table["filled"] = pd.Series(filled)
    unsaid = grid.measured.notna() & grid.stderrs[grid.measured.columns].isna()
    said = grid.completed.errors.stderrs.notna()
    table["errors_filled"] = (unsaid & said).sum(axis=1)
    table["missing"] = pd.Series({label: " ".join(names) for label, names in missing.items()})
    values = grid.values.reindex(columns=tasks)
    errors = grid.stderrs.reindex(columns=tasks).add_suffix(frame.ERROR)
    table = table.join(values).join(errors).reset_index()
    table.insert(0, "protocol", grid.protocol)
    return table.sort_values(["rank", "label"], kind="stable", ignore_index=True)


def _reason(grid: Grid, label: str, lacking: list[str], absent: set[tuple[str, str]]) -> str:
    """Why a model has no PC1; empty if it has one."""
    if not grid.measured.shape[1]:
        return "no scores"
    lacking = [task for task in lacking if task not in grid.unmeasured]
    unasked = [task for task in lacking if (label, task) not in absent]
    of = f"of {grid.measured.shape[1]} tasks"
    said = [
        f"{len(unasked)} {of} not asked of it" if unasked else "",
        f"{len(lacking) - len(unasked)} {of} missing" if len(lacking) > len(unasked) else "",
    ]
    return ", ".join(part for part in said if part)


def rank_range(rank: float, low: float, high: float, mark: str = "") -> str | None:
    """The rank, in brackets those between which it lies, where they are known."""
    if pd.isna(rank):
        return None
    return f"{rank:.0f}{mark}" if pd.isna(low) else f"{rank:.0f}{mark} ({low:.0f}–{high:.0f})"


def what_is_missing(row: Cells, names: Mapping[str, str]) -> str:
    """Why a model is not ranked, or what of it is estimated; one that lacks all cells is not listed task by task."""
    estimated = [names.get(task, task) for task in row["filled"].split()]
    lacking = [names.get(task, task) for task in row["missing"].split()]
    if estimated:
        said = [f"estimated: {', '.join(estimated)}"]
    else:
        cells = "all" if lacking and len(lacking) == len(names) else ", ".join(lacking)
        said = [": ".join(part for part in (row["reason"], cells) if part)]
    if row["errors_filled"]:
        said.append(f"{row['errors_filled']} standard errors estimated")
    return "; ".join(part for part in said if part)


def _show(table: pd.DataFrame, request: RankingRequest) -> ShownColumns:
    names = {task: name for task, name in request.names.items() if task in table}
    marks = [frame.ESTIMATED if filled else "" for filled in table["filled"]]
    ranked = zip(table["rank"], table["rank_low"], table["rank_high"], marks, strict=True)
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Rank": [rank_range(*row) for row in ranked],
        "Tier": numbers(table["tier"], ".0f"),
        "Model": table["model"] + table["variant"],
        "Origin": table["origin"],
        "PC1": numbers(table["pc1"], ".2f"),
        **{name: percents(table[task]) for task, name in names.items()},
        "Missing": [what_is_missing(row, names) for row in cells(table)],
    }


def _note(table: pd.DataFrame, request: RankingRequest) -> str:
    said = NOTE.format(trainings=frame.TRAININGS[request.trainings])
    if table.groupby("protocol").size().max() * request.draws > MOST_RANKS:
        said += f" Of so many models ranks are drawn {FEWEST_DRAWS} times or more, not {request.draws:,}."
    return said


TABLE = Table(
    name="leaderboard",
    title="Harmony leaderboard",
    note=_note,
    columns=COLUMNS,
    asks=RankingRequest,
    make=lambda inputs, request: leaderboard(read_grids(inputs, request), request),
    show=_show,
)
