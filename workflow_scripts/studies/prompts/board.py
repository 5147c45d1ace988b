"""The leaderboard's tab of the prompt runs: the same questions, asked in different ways."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Record, sort_records
from workflow_scripts.render.frames import Cells, cells, checkpoint_of
from workflow_scripts.render.web.board import BoardItem, Column, Details, Row, Tab
from workflow_scripts.settings.requests import GENERATED
from workflow_scripts.studies.prompts import by_subject as subjects_of_runs
from workflow_scripts.studies.prompts import runs as prompt_runs

# Enough to see how a run answers; all of them lie beside its record.
_ITEMS_SHOWN = 3

_COLUMNS = [
    Column("name", "Run", "name"),
    Column("model", "Model", "choice"),
    Column("changed", "What changed", "text"),
    Column("micro", "Micro", "score", "Share of all questions answered right.", digits=1),
    Column("macro", "Macro", "score", "Mean over the subjects.", shown=False, digits=1),
    Column("floor", "Floor", "score", "The best that a fixed or a random answer scores.", digits=1),
    Column(
        "format_met", "Format met", "score", "Share of outputs in the form asked for.", digits=1
    ),
    Column(
        "strict_share",
        "Strict",
        "score",
        "Share of the right answers that are in that form and equal to the right choice.",
        shown=False,
        digits=1,
    ),
    Column("n", "n", "count", "Questions asked."),
    Column(
        "difference", "Difference", "score", "Of the micro average to the run before.", digits=1
    ),
    Column("p", "p", "number", "McNemar's exact test of that difference."),
    Column(
        "published_micro",
        "Published",
        "score",
        "Of Llama-3.2-1B-Instruct on all of the real MMLU; run 4 on its first 285 questions.",
        digits=1,
    ),
]


def prompts_tab(runs: Path, by_subject: Path, records: list[Path]) -> Tab:
    """From the tables of the runs; the records add some answers."""
    subjects = _subjects(by_subject)
    whole, _ = sort_records(records)
    items = {(record.model.id, record.task.name): _items(path, record) for path, record in whole}
    rows = []
    for row in cells(prompt_runs.TABLE.read(runs)):
        checkpoint, run = checkpoint_of(row), row["run"]
        values = {"name": run, "model": checkpoint}
        fields = [column.field for column in _COLUMNS[2:]]
        values |= {field: row[field] for field in (*fields, "micro_stderr", "macro_stderr")}
        values |= {f"{field}_n": row["n"] for field in ("micro", "macro")}
        facts = {"Compared with": row["after"], "Questions of both": row["pairs"]}
        facts |= {"Right only here": row["won"], "Right only there": row["lost"]}
        rows.append(
            Row(
                id=f"{checkpoint}/{run}",
                values=values,
                notes=[] if row["n"] else ["It could not be measured; the report names why."],
                details=Details(
                    facts=facts,
                    tasks=subjects[checkpoint, run],
                    percents=("acc", "stderr", "floor", "acc_strict", "format_met"),
                    items=items.get((checkpoint, run), []),
                ),
            )
        )
    models = {row.values["model"] for row in rows}
    generated = all(str(model).startswith(GENERATED) for model in models)
    columns = [
        replace(c, shown=c.shown and (c.field != "model" or len(models) > 1)) for c in _COLUMNS
    ]
    return Tab(
        id="prompts",
        title="Prompt runs",
        about=(
            "The same MMLU questions, asked in different ways. Scores in percent, ± standard error;"
            " a run at its floor shows nothing. Published: of Llama-3.2-1B-Instruct on the real MMLU"
            + (", and of no model in this table." if generated else ".")
        ),
        columns=columns,
        rows=rows,
        sort="name",
        search=("name", "model", "changed"),
    )


def _subjects(csv: Path) -> dict[tuple[str, str], list[Cells]]:
    found = defaultdict(list)
    for row in cells(subjects_of_runs.TABLE.read(csv)):
        shown = ("n", "acc", "stderr", "floor", "acc_strict", "format_met")
        subject = {"subject": row["subject"].replace("_", " ")} | {one: row[one] for one in shown}
        found[checkpoint_of(row), row["run"]].append(subject)
    return found


def _items(path: Path, record: Record) -> list[BoardItem]:
    """The first right and wrong ones of a run."""
    columns = ["item", "subset", "gold", "prediction", "correct", "text"]
    items = read_items(path.with_name(record.items.file)).select(columns).to_pylist()
    chosen = []
    for right in (True, False):
        chosen += [item for item in items if bool(item["correct"]) is right][:_ITEMS_SHOWN]
    return [
        BoardItem(
            task=(item["subset"] or record.task.name).replace("_", " "),
            right=bool(item["correct"]),
            prompt=item["item"],  # its text is not kept, only its digest
            answer=item["text"] or item["prediction"] or "",
            gold=item["gold"] or "",
        )
        for item in chosen
    ]
