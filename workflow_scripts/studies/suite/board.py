"""The first tab of the leaderboard's page: the suite, with what opens beneath each row."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.files import write_json
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Record, read_record
from workflow_scripts.render.frames import Cells, cells
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.web.board import BoardItem, Column, Details, Row, Tab
from workflow_scripts.studies.ranking.frame import OWN
from workflow_scripts.studies.suite import checks, leaderboard
from workflow_scripts.studies.suite.about import ICONS
from workflow_scripts.studies.suite.baselines import Baseline, baselines
from workflow_scripts.studies.suite.requests import accepted
from workflow_scripts.studies.suite.table_requests import ShownTask, SuiteBoard

ABOUT = (
    "Submitted models on a suite of tasks, each with its own number of few-shot examples. The rows in"
    " italics are baselines, for comparison. The average stands where all tasks do. A score that does not"
    " clear the floor of its task shows nothing; open a row for floors, what the run took, and some of the"
    " answers. Where no answer or every answer is right the standard error is 0 however few there are;"
    " there n stands in its place."
)
# A page of thousands of rows shows fewer items of each: it is to open in a second.
MOST_ITEMS = 4_000
PROMPT, ANSWER = 600, 300  # characters shown


def board_suite(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    tables = (
        leaderboard.TABLE.read(inputs.one("leaderboard")),
        checks.TABLE.read(inputs.one("found")),
    )
    asked = SuiteBoard.of(request)
    found = suite_tab(*tables, leaderboard.read_entries(inputs, asked), asked)
    write_json(outputs["tab"], asdict(found))


def suite_tab(
    board: pd.DataFrame, found: pd.DataFrame, requests: list[dict], request: SuiteBoard
) -> Tab:
    """From the tables suite_leaderboard and suite_checks, and from the records behind them."""
    tasks = request.tasks
    entries = {entry["file"]: entry for entry in accepted(requests)}
    lost = found[found["check"] == checks.LOST_FLAG]
    notes = found.groupby("file")["detail"].agg(list).to_dict()
    of_a_row = min(2 * request.shown_items * len(tasks), MOST_ITEMS // max(1, len(board)))
    return Tab(
        id="suite",
        title="Leaderboard",
        about=" ".join([ABOUT, *(f"{row.model}: {row.detail}" for row in lost.itertuples())]),
        columns=_columns(tasks, imported=bool((board["origin"] != OWN).any())),
        rows=[
            _row(row, entries[row["file"]], notes.get(row["file"], []), tasks, of_a_row)
            for row in cells(board)
        ],
        baselines=[_beside(one) for one in baselines(board, request)],
        sort="average",
        search=("name", "note"),
    )


def _columns(tasks: Sequence[ShownTask], imported: bool) -> list[Column]:
    return [
        Column("name", "Model", "name"),
        Column("model_type", "Type", "choice", "The kind of model.", icons=ICONS),
        Column("precision", "Precision", "choice"),
        Column("average", "Average", "score", "The mean of all tasks, where all are there."),
        *(
            Column(
                task.task,
                task.title,
                "score",
                f"{task.shots}-shot, {task.shown_as} ({task.metric} of lm-eval).",
            )
            for task in tasks
        ),
        Column("commit", "Commit", "commit", "The model's revision."),
        Column(
            "origin", "Origin", "choice", "Own runs, or the folder it was imported from.", imported
        ),
        Column("parameters", "Parameters", "count", ranged=True),
        Column("licence", "Licence", "choice"),
        Column("protocol", "Protocol", "choice", "How it was asked.", shown=False),
        Column("weight_type", "Weights", "choice", shown=False),
        Column("note", "Note", "text", "By its submitter.", shown=False),
        Column("flag", "Flag", "flag", shown=False),
    ]


def _row(row: Cells, entry: dict, notes: list[str], tasks: Sequence[ShownTask], most: int) -> Row:
    names = [task.task for task in tasks]
    scores = ["average", "average_stderr", *names, *(f"{name}_stderr" for name in names)]
    scores += [f"{name}_floor" for name in names]
    # A score is a share, whole or not.
    row |= {key: None if row[key] is None else float(row[key]) for key in scores}
    facts = (
        "origin",
        "model_type",
        "precision",
        "licence",
        "protocol",
        "weight_type",
        "commit",
        "note",
    )
    records = {
        name: record
        for name, path in entry["records"].items()
        if Path(path).is_file() and isinstance(record := read_record(Path(path)), Record)
    }
    return Row(
        id=_id(row),
        values={
            "name": row["model"],
            "parameters": row["parameters"],
            "flag": row["flag"],
            **{key: row[key] for key in (*scores, *facts) if not key.endswith("_floor")},
            **{f"{name}_n": row[f"{name}_n"] for name in names},
        },
        flag=row["flag"],
        flag_link=row["flag_link"],
        notes=[row["note"], *notes] if row["origin"] != OWN else notes,
        details=Details(
            facts=_facts(row, records),
            tasks=[_of_task(row, task, records.get(task.task)) for task in tasks],
            percents=("score", "standard error", "floor"),
            items=_items(entry, records, tasks, most),
        ),
    )


def _beside(baseline: Baseline) -> Row:
    return Row(
        id=baseline.name,
        values={
            "name": baseline.name,
            "average": baseline.average,
            **baseline.scores,
            **{f"{task}_stderr": error for task, error in baseline.errors.items()},
        },
        notes=[baseline.what],
        details=Details(facts={"source": baseline.source} if baseline.source else {}),
    )


def _id(row: Cells) -> str:
    """Unique: of the same model in the same precision and protocol, one commit is there once, from each origin."""
    parts = [row["model"], row["precision"], row["commit"][:12], row["protocol"]]
    parts += [row["origin"]] if row["origin"] != OWN else []
    return "~".join(parts)


def _facts(row: Cells, records: dict[str, Record]) -> Cells:
    first = next(iter(records.values()), None)
    spent = sum(record.volatile.seconds for record in records.values())
    return {
        "model": row["model"],
        "revision": row["commit"],
        "precision": row["precision"],
        "request": row["file"],
        "licence": row["licence"],
        "note": row["note"],
        "seconds in all": round(spent, 1) if records else None,
        "tokens in all": sum(record.cost.tokens for record in records.values()),
        "device": first.cost.device if first else None,
        "attention": first.protocol.attention if first else None,
        "lm-eval": first.task.harness_version if first else None,
        "code": first.provenance.code_commit if first else None,
    }


def _of_task(row: Cells, task: ShownTask, record: Record | None) -> Cells:
    name = task.task
    return {
        "task": task.title,
        "metric": task.shown_as,
        "shots": record.task.shots if record else task.shots,
        "score": row[name],
        "standard error": row[f"{name}_stderr"],
        "n": row[f"{name}_n"],
        "floor": row[f"{name}_floor"],
        "dataset": record.task.dataset if record else None,
        "revision": record.task.dataset_commit if record else None,
        "tokens": record.cost.tokens if record else None,
        "seconds": record.volatile.seconds if record else None,
    }


def _items(
    entry: dict, records: dict[str, Record], tasks: Sequence[ShownTask], most: int
) -> list[BoardItem]:
    """Right and wrong ones of each task in turn, the same items of every row where that can be."""
    chosen = []
    for at, task in enumerate(tasks):
        room = most * (at + 1) // len(tasks) - most * at // len(tasks)
        if task.task not in records:
            continue
        path = Path(entry["records"][task.task]).with_suffix(".parquet")
        items = [_item(task, item) for item in _shuffled(read_items(path).to_pylist())]
        right = [item for item in items if item.right][: (room + 1) // 2]
        chosen += right
        chosen += [item for item in items if not item.right][: room - len(right)]
    return chosen


def _shuffled(items: list[dict]) -> list[dict]:
    """By the digest of their names, so that the first ones are no one subject's."""
    return sorted(items, key=lambda item: hashlib.sha256(item["item"].encode()).digest())


def _item(task: ShownTask, item: dict[str, Any]) -> BoardItem:
    scores = dict(item["scores"])
    graded = item["correct"] is None  # a share of the probability: right where most of it is
    value = scores.get(task.metric, 0.0)
    prompt = (item["prompt"] or "").strip()
    return BoardItem(
        task=task.title,
        right=value > 0.5 if graded else item["correct"],
        prompt=prompt if len(prompt) <= PROMPT else "…" + prompt[-PROMPT:],
        answer=_cut(item["text"] or _choice(item, "prediction")),
        gold=f"{value:.0%} of the probability on right answers"
        if graded
        else _cut(_choice(item, "gold")),
    )


def _choice(item: dict, key: str) -> str:
    """The text of a choice, which items name by its number."""
    named = item[key] or ""
    choices = item["choices"] or []
    return choices[int(named)] if named.isdigit() and int(named) < len(choices) else named


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= ANSWER else text[:ANSWER] + "…"
