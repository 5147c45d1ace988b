"""The leaderboard's tab of the Harmony study: models by PC1 after training on each task."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.render.frames import Cells, cells
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Details, Row, Tab
from workflow_scripts.scores.foreign.cells import cells_of, told
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.leaderboard import what_is_missing

# The ranking that the tab shows is that of the first of these that was measured.
_SHOWN_FIRST = (frame.TRAINED, frame.FEW_SHOT, frame.DIRECT)
Tasks = Sequence[RankedTask]
Names = Mapping[str, str]
Facts = Mapping[tuple[str, str], Cells]  # by label and task, of the protocol that is shown


def harmony_tab(
    leaderboard: Path,
    components: Path,
    scores: Path,
    tasks: Tasks,
    names: Names,
    imports: Sequence[Path] = (),
) -> Tab:
    """Make the tab; the scores' file adds what a task's floor and number of items are.

    `names` are those of the protocols; the folders of imported results say who measured them.
    """
    table = cells(read_table(Path(leaderboard)))
    found = {row["protocol"] for row in table}
    shown = next((one for one in _SHOWN_FIRST if one in found), frame.DIRECT)
    others = [one for one in (*_SHOWN_FIRST, frame.FLOORED) if one in found and one != shown]
    ranked = {one: {row["label"]: row for row in table if row["protocol"] == one} for one in found}
    tasks = [task for task in tasks if any(row.get(task.task) is not None for row in table)]
    facts = _facts_of_tasks(Path(scores), shown, tasks)
    rows = [
        _row(
            {shown: row} | {one: ranked[one].get(label, {}) for one in others}, tasks, facts, names
        )
        for label, row in ranked.get(shown, {}).items()
    ]
    theirs = cells_of(imports)
    for row in rows:
        of_origin = theirs.get(str(row.values["origin"]), ())
        row.notes.extend(told(one for one in of_origin if one.model == row.values["name"]))
    return Tab(
        id="harmony",
        title="Train before test" if shown == frame.TRAINED else "Ranking by PC1",
        about=_about(shown, cells(read_table(Path(components)))),
        columns=_columns(shown, others, tasks, {row["origin"] for row in table}, names),
        rows=rows,
        sort="rank",
        search=("name", "family"),
    )


def _columns(
    shown: str, others: list[str], tasks: Tasks, origins: set, names: Names
) -> list[Column]:
    return [
        Column("name", "Model", "name"),
        Column("rank", "Rank", "count", "By PC1; of models that lack too many tasks none."),
        Column("pc1", "PC1", "number", f"Of the {names[shown]} scores.", digits=2),
        *(
            Column(
                f"rank_{one}",
                f"Rank {names[one]}",
                "count",
                f"The rank by PC1 of the {names[one]} scores.",
                shown=one != frame.FLOORED,
            )
            for one in others
        ),
        *(
            Column(
                task.task,
                task.display_name,
                "score",
                f"{task.metric}, {names[shown]}, in percent, ± standard error.",
                digits=1,
            )
            for task in tasks
        ),
        Column("kind", "Kind", "choice", shown=False),
        Column("family", "Family", "choice", shown=False),
        Column("parameters", "Parameters", "count", ranged=True),
        Column(
            "origin",
            "Origin",
            "choice",
            "Own runs, or another's file.",
            shown=origins != {frame.OWN},
        ),
    ]


def _about(shown: str, components: list[Cells]) -> str:
    shares = [
        f" It holds {100 * row['share']:.0f}% of their variance{_interval(row)}."
        for row in components
        if (row["protocol"], row["component"]) == (shown, frame.FIRST_COMPONENT)
        and row["share"] is not None
    ]
    return (
        f"Models ranked by PC1, 100 times the first principal component of the standardised scores,"
        f" {frame.EXPLAINED[shown]}.{''.join(shares[:1])} Scores in percent, ± standard error; higher is"
        " better."
    )


def _interval(row: Cells) -> str:
    """Two models have none: whichever are drawn, one component holds everything."""
    if row["low"] is None or row["high"] is None:
        return ""
    return f" (95%: {100 * row['low']:.0f} to {100 * row['high']:.0f})"


def _row(ranked: dict[str, Cells], tasks: Tasks, facts: Facts, names: Names) -> Row:
    """One model: its row of the ranking under each protocol, that which is shown first."""
    (_, row), *others = ranked.items()
    label = row["label"]
    values = {"name": label} | {
        field: row[field] for field in ("rank", "pc1", "kind", "family", "parameters", "origin")
    }
    values |= {f"rank_{one}": other.get("rank") for one, other in others}
    for task in tasks:
        values[task.task] = row[task.task]
        values[f"{task.task}_stderr"] = row[task.task + frame.ERROR]
        values[f"{task.task}_n"] = facts.get((label, task.task), {}).get("n")
    missing = what_is_missing(row, {task.task: task.display_name for task in tasks})
    ranges = {
        f"Rank {names[one]}, 95% interval": f"{other['rank_low']} to {other['rank_high']}"
        for one, other in ranked.items()
        if other.get("rank_low") is not None
    }
    components = {f"PC1 {names[one]}": other.get("pc1") for one, other in others}
    return Row(
        id=label,
        values=values,
        notes=[missing] if missing else [],
        details=Details(
            facts=ranges | components,
            tasks=[_task(task, ranked, facts.get((label, task.task), {}), names) for task in tasks],
            percents=(
                *(f"{mark}{names[one]}" for one in ranked for mark in ("", "± ")),
                "floor",
            ),
        ),
    )


def _task(task: RankedTask, ranked: dict[str, Cells], known: Cells, names: Names) -> Cells:
    found: Cells = {"task": task.display_name, "metric": task.metric}
    for one, scores in ranked.items():
        found[names[one]] = scores.get(task.task)
        found[f"± {names[one]}"] = scores.get(task.task + frame.ERROR)
    return found | {"floor": known.get("floor"), "n": known.get("n")}


def _facts_of_tasks(scores: Path, protocol: str, tasks: Tasks) -> Facts:
    """Floor and number of items of our own runs; a cell trained with several seeds has one of each."""
    table = pd.read_parquet(scores)
    metrics = {task.task: task.metric for task in tasks}
    ours = (table["protocol"] == protocol) & (table["metric"] == table["task"].map(metrics))
    return {
        (one.model + one.variant, one.task): {
            "floor": None if pd.isna(one.floor) else float(one.floor),
            "n": None if pd.isna(one.n) else int(one.n),
        }
        for one in table[ours].itertuples()
    }
