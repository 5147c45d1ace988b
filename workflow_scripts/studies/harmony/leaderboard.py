"""The leaderboard of the Harmony study: rank, first component, and every score, by protocol."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.tables import write_table
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import rank_ranges, ranks
from workflow_scripts.studies.harmony.grid import PROTOCOLS, Grid

TITLE = "Harmony leaderboard"
NOTE = (
    "Models ranked by PC1, 100 times the first principal component of the standardised scores, within"
    " each protocol; in brackets the ranks between which a model lies when every score is drawn again"
    " within its standard error (95%). PC1 of different protocols, or of different sets of models, is"
    " not on one scale. Scores in percent (of the metric's highest value). train-before-test shows raw"
    " scores, the floored protocol the better of these and the direct ones; imported scores are as"
    " their source has them, and the published leaderboard looks floored. Origin: own runs, or the"
    " file that scores were imported from. A dash is a missing cell: none is filled, and a model that"
    " lacks one has no PC1; those that should be there are named in the last column."
)
_TOO_FEW = "fewer than two models that have all tasks differ"


def harmony_leaderboard(grids: dict[str, Grid], *, draws: int, seed: int) -> pd.DataFrame:
    """One row per protocol and model, best first, models without a rank at the end."""
    tasks = list(dict.fromkeys(task for grid in grids.values() for task in grid.values))
    return pd.concat(
        [_of_protocol(grid, tasks, draws, seed) for grid in grids.values()], ignore_index=True
    )


def ranked_scores(grid: Grid) -> pd.DataFrame:
    """The scores that components are made of: complete models, tasks on which they differ at all."""
    complete = grid.complete
    return complete.loc[:, complete.nunique() > 1]


def _of_protocol(grid: Grid, tasks: list[str], draws: int, seed: int) -> pd.DataFrame:
    table = grid.models.rename_axis("label").reset_index()
    table.insert(0, "protocol", grid.protocol)
    scores = ranked_scores(grid)
    reasons = {label: _reason(grid, label) for label in grid.values.index}
    found = pd.DataFrame(
        index=grid.values.index, columns=["pc1", "rank", "rank_low", "rank_high"], dtype=float
    )
    if len(scores) >= 2 and scores.shape[1]:
        pc1 = principal_components(scores).scores["PC1"]
        found["pc1"], found["rank"] = pc1, ranks(pc1)
        errors = grid.stderrs.loc[scores.index, scores.columns]
        ranges = rank_ranges(scores, errors, draws=draws, seed=seed)
        found["rank_low"], found["rank_high"] = ranges["low"], ranges["high"]
    else:
        reasons = {label: reason or _TOO_FEW for label, reason in reasons.items()}
    table = table.join(found, on="label")
    table["reason"] = table["label"].map(reasons)
    missing = {label: [] for label in grid.values.index}
    for label, task in grid.absent:
        missing[label].append(task)
    table["missing"] = table["label"].map({k: " ".join(tasks) for k, tasks in missing.items()})
    values = grid.values.reindex(columns=tasks)
    errors = grid.stderrs.reindex(columns=tasks).add_suffix("_stderr")
    table = table.join(values, on="label").join(errors, on="label")
    return table.sort_values(["rank", "label"], kind="stable", ignore_index=True)


def _reason(grid: Grid, label: str) -> str:
    """Why a model has no PC1; empty if it has one."""
    if not grid.measured.shape[1]:
        return "no scores"
    lacking = [task for task in grid.lacking(label) if task not in grid.unmeasured]
    unasked = [task for task in lacking if (label, task) not in set(grid.absent)]
    of = f"of {grid.measured.shape[1]} tasks"
    said = [
        f"{len(unasked)} {of} not asked of it" if unasked else "",
        f"{len(lacking) - len(unasked)} {of} missing" if len(lacking) > len(unasked) else "",
    ]
    return ", ".join(part for part in said if part)


def write_harmony_leaderboard(
    table: pd.DataFrame, tasks: list[dict], csv: Path, md: Path, tex: Path
) -> None:
    names = {row["task"]: row["display_name"] for row in tasks if row["task"] in table}

    def show(frame: pd.DataFrame) -> pd.DataFrame:
        shown = {
            "Protocol": frame["protocol"].map(PROTOCOLS),
            "Rank": [
                None if pd.isna(rank) else _rank(rank, low, high)
                for rank, low, high in zip(
                    frame["rank"], frame["rank_low"], frame["rank_high"], strict=True
                )
            ],
            "Model": frame["model"] + frame["variant"],
            "Origin": frame["origin"],
            "PC1": [_number(value, ".2f") for value in frame["pc1"]],
        }
        for task, name in names.items():
            shown[name] = [_number(100 * value, ".1f") for value in frame[task]]
        shown["Missing"] = [
            _named(reason, missing, names)
            for reason, missing in zip(frame["reason"], frame["missing"], strict=True)
        ]
        return pd.DataFrame(shown)

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)


def _number(value: float, spec: str) -> str | None:
    return None if pd.isna(value) else format(value, spec).replace("-", "−")


def _rank(rank: float, low: float, high: float) -> str:
    return f"{rank:.0f}" if pd.isna(low) else f"{rank:.0f} ({low:.0f}–{high:.0f})"


def _named(reason: str, missing: str, names: dict[str, str]) -> str:
    """The reason and the missing cells; one that lacks all of them is not listed task by task."""
    lacking = [names[task] for task in missing.split()]
    cells = "all" if lacking and len(lacking) == len(names) else ", ".join(lacking)
    return ": ".join(part for part in (reason, cells) if part)
