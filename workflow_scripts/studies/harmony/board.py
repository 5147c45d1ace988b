"""The leaderboard's tab of the Harmony study: models by PC1 after training on each task."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.cells import Cells, read_cells
from workflow_scripts.render.web.board import Column, Details, Row, Tab
from workflow_scripts.studies.harmony.grid import FLOORED, OWN, PROTOCOLS

# The ranking that the tab shows is that of the first of these that was measured.
_SHOWN_FIRST = ("train_before_test", "few_shot", "direct")


def harmony_tab(leaderboard: str, components: str, scores: str, tasks: list[dict]) -> Tab:
    """Of the table of the ranking; the scores' file adds what a task's floor and number of items are."""
    table = read_cells(Path(leaderboard))
    found = {row["protocol"] for row in table}
    shown = next((one for one in _SHOWN_FIRST if one in found), "direct")
    others = [one for one in (*_SHOWN_FIRST, FLOORED) if one in found and one != shown]
    ranked = {one: {row["label"]: row for row in table if row["protocol"] == one} for one in found}
    tasks = [task for task in tasks if any(row.get(task["task"]) is not None for row in table)]
    facts = _facts_of_tasks(Path(scores))
    rows = [
        _row(row, {one: ranked[one].get(label, {}) for one in others}, tasks, shown, facts)
        for label, row in ranked.get(shown, {}).items()
    ]
    return Tab(
        id="harmony",
        title="Train before test" if shown == "train_before_test" else "Ranking by PC1",
        about=_about(shown, read_cells(Path(components))),
        columns=_columns(shown, others, tasks, {row["origin"] for row in table}),
        rows=rows,
        sort="rank",
        search=("name", "family"),
    )


def _columns(shown: str, others: list[str], tasks: list[dict], origins: set) -> list[Column]:
    return [
        Column("name", "Model", "name"),
        Column("rank", "Rank", "count", "By PC1; models that lack a task have none."),
        Column("pc1", "PC1", "number", f"Of the {PROTOCOLS[shown]} scores.", digits=2),
        *(
            Column(
                f"rank_{one}",
                f"Rank {PROTOCOLS[one]}",
                "count",
                f"The rank by PC1 of the {PROTOCOLS[one]} scores.",
                shown=one != FLOORED,
            )
            for one in others
        ),
        *(
            Column(
                task["task"],
                task["display_name"],
                "score",
                f"{task['metric']}, {PROTOCOLS[shown]}, in percent, ± standard error.",
                digits=1,
            )
            for task in tasks
        ),
        Column("kind", "Kind", "choice", shown=False),
        Column("family", "Family", "choice", shown=False),
        Column("parameters", "Parameters", "count", ranged=True),
        Column(
            "origin", "Origin", "choice", "Own runs, or another's file.", shown=origins != {OWN}
        ),
    ]


def _about(shown: str, components: list[Cells]) -> str:
    shares = [
        f" It holds {100 * row['share']:.0f}% of their variance{_interval(row)}."
        for row in components
        if (row["protocol"], row["component"]) == (shown, "PC1") and row["share"] is not None
    ]
    of = {
        "train_before_test": "after every model was trained on each task",
        "few_shot": "with examples in front of each item",
        "direct": "as the models are",
    }[shown]
    return (
        f"Models ranked by PC1, 100 times the first principal component of the standardised scores,"
        f" {of}.{''.join(shares[:1])} Scores in percent, ± standard error; higher is better."
    )


def _interval(row: Cells) -> str:
    """Two models have none: whichever are drawn, one component holds everything."""
    if row["low"] is None or row["high"] is None:
        return ""
    return f" (95%: {100 * row['low']:.0f} to {100 * row['high']:.0f})"


def _row(
    row: Cells, others: dict[str, Cells], tasks: list[dict], shown: str, facts: dict[tuple, Cells]
) -> Row:
    values = {"name": row["label"]} | {
        field: row[field] for field in ("rank", "pc1", "kind", "family", "parameters", "origin")
    }
    values |= {f"rank_{one}": other.get("rank") for one, other in others.items()}
    for task in tasks:
        values[task["task"]] = row[task["task"]]
        values[f"{task['task']}_stderr"] = row[f"{task['task']}_stderr"]
        known = facts.get((row["label"], shown, task["task"], task["metric"]), {})
        values[f"{task['task']}_n"] = known.get("n")
    names = {task["task"]: task["display_name"] for task in tasks}
    missing = [names.get(task, task) for task in (row["missing"] or "").split()]
    reason = ": ".join(part for part in (row["reason"], ", ".join(missing)) if part)
    ranges = {
        PROTOCOLS[one]: ranked
        for one, ranked in ({shown: row} | others).items()
        if ranked.get("rank_low") is not None
    }
    return Row(
        id=row["label"],
        values=values,
        notes=[reason] if reason else [],
        details=Details(
            facts={
                f"Rank {name}, 95% interval": f"{one['rank_low']} to {one['rank_high']}"
                for name, one in ranges.items()
            }
            | {f"PC1 {PROTOCOLS[one]}": other.get("pc1") for one, other in others.items()},
            tasks=[_task(task, row, others, shown, facts) for task in tasks],
            percents=(
                *(f"{mark}{PROTOCOLS[one]}" for one in (shown, *others) for mark in ("", "± ")),
                "floor",
            ),
        ),
    )


def _task(task: dict, row: Cells, others: dict[str, Cells], shown: str, facts: dict) -> Cells:
    known = facts.get((row["label"], shown, task["task"], task["metric"]), {})
    cells = {"task": task["display_name"], "metric": task["metric"]}
    for one, scores in ({shown: row} | others).items():
        cells[PROTOCOLS[one]] = scores.get(task["task"])
        cells[f"± {PROTOCOLS[one]}"] = scores.get(f"{task['task']}_stderr")
    return cells | {"floor": known.get("floor"), "n": known.get("n")}


def _facts_of_tasks(scores: Path) -> dict[tuple, Cells]:
    """Floor and number of items of our own runs; a cell trained with several seeds has one of each."""
    table = pd.read_parquet(
        scores, columns=["model", "variant", "protocol", "task", "metric", "floor", "n"]
    )
    return {
        (one.model + (one.variant or ""), one.protocol, one.task, one.metric): {
            "floor": None if pd.isna(one.floor) else float(one.floor),
            "n": None if pd.isna(one.n) else int(one.n),
        }
        for one in table.itertuples()
    }
