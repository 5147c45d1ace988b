"""Find rows of the leaderboard that are worth a look by a person."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import did_you_mean
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Broken, read_record
from workflow_scripts.render.tables import ShownColumns, read_table, write_table
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import lowest_of
from workflow_scripts.settings.requests import GENERATED
from workflow_scripts.stats.shares import errors_above
from workflow_scripts.studies.suite import leaderboard
from workflow_scripts.studies.suite.requests import accepted
from workflow_scripts.studies.suite.table_requests import ShownTask, SuiteTables

SUSPICIOUS = 0.95
LOST_FLAG = "flag without a row"
NOTE = (
    "Found by rules, and no judgement. At the floor: the score does not clear the better of a random"
    f" and a fixed answer by {CLEAR} standard errors. Above {SUSPICIOUS:.0%}: rare unless the test was"
    " in the training text. Missing: a task without a score. Fewer items: than others were asked."
    " Alike: the same answer as another model to every item of every task. A flag that marks no row"
    " stands last: its model, precision or commit is none that was accepted."
)
# A row is known by its request's file: one model may be there under two protocols.
_ROW = ["model", "precision", "commit", "protocol", "file"]
_COLUMNS = [*_ROW, "check", "tasks", "detail"]


def find_suspicious_rows(
    table: pd.DataFrame, entries: list[dict], request: SuiteTables
) -> pd.DataFrame:
    """Make one row per finding, in the order of the leaderboard `table`; flags that mark no row come last.

    A flag of a model of another source than the config's is none of them: one file serves both.
    """
    copies = _find_copies(entries, request.tasks)
    max_items = {task.task: table[f"{task.task}_n"].max() for task in request.tasks}
    found = []
    for _, row in table.iterrows():
        facts = row[_ROW].to_dict()
        for check, tasks in _check_scores(row, request.tasks, max_items):
            if tasks:
                names = " ".join(task.task for task in tasks)
                titles = ", ".join(task.title for task in tasks)
                detail = f"{check[0].upper()}{check[1:]}: {titles}."
                found.append(facts | {"check": check, "tasks": names, "detail": detail})
        if row["file"] in copies:
            detail = f"Answers every item as {', '.join(copies[row['file']])} does."
            found.append(facts | {"check": "alike", "tasks": "", "detail": detail})
    requested = {entry["request"]["name"] for entry in entries if entry["request"]}
    for flag in request.flags:
        is_of_this_source = flag.model.startswith(GENERATED) == (request.source == "miniature")
        if is_of_this_source and not any(
            leaderboard.marks(flag, entry) for entry in accepted(entries)
        ):
            hint = "" if flag.model in requested else did_you_mean(flag.model, sorted(requested))
            found.append(
                {
                    "model": flag.model,
                    "precision": flag.precision,
                    "commit": flag.revision,
                    "check": LOST_FLAG,
                    "detail": f"Its flag marks no accepted row.{hint}",
                }
            )
    return pd.DataFrame(found, columns=_COLUMNS)


def _check_scores(
    row: pd.Series, tasks: tuple[ShownTask, ...], max_items: dict[str, float]
) -> Iterator[tuple[str, list[ShownTask]]]:
    measured = [task for task in tasks if pd.notna(row[task.task])]
    counted = [task for task in measured if pd.notna(row[f"{task.task}_n"])]
    yield "at the floor", [task for task in measured if not _clears_floor(row, task)]
    yield f"above {SUSPICIOUS:.0%}", [task for task in measured if row[task.task] > SUSPICIOUS]
    yield "missing", [task for task in tasks if task not in measured]
    yield (
        "fewer items",
        [task for task in counted if row[f"{task.task}_n"] < max_items[task.task]],
    )


def _clears_floor(row: pd.Series, task: ShownTask) -> bool:
    """A task without a floor has none to clear."""
    parts = [f"{task.task}{part}" for part in ("", "_stderr", "_floor", "_n")]
    value, error, floor, n = row[parts].astype("Float64").astype(float)
    above = errors_above(value, error, floor, n, lowest_of(pd.Series([task.metric]))[0])
    return pd.isna(floor) or bool(above >= CLEAR)


def _find_copies(entries: list[dict], tasks: tuple[ShownTask, ...]) -> dict[str, list[str]]:
    """Find by request which other models gave every answer that it gave.

    A model's own precisions and protocols are no copies of it.
    """
    names = defaultdict(set)
    digests = {}
    for entry in accepted(entries):
        is_whole = set(entry["records"]) == {task.task for task in tasks}
        digest = _digest_answers(entry) if is_whole else None
        if digest:
            digests[entry["file"]] = digest
            names[digest].add(entry["request"]["name"])
    own_names = {entry["file"]: entry["request"]["name"] for entry in accepted(entries)}
    others = {file: sorted(names[digest] - {own_names[file]}) for file, digest in digests.items()}
    return {file: found for file, found in others.items() if found}


def _digest_answers(entry: dict) -> str | None:
    """Digest all predictions; None where some are missing or broken."""
    answers = []
    for task, path in sorted(entry["records"].items()):
        record = Path(path)
        if not record.is_file() or isinstance(read_record(record), Broken):
            return None
        items = read_items(record.with_suffix(".parquet"))
        predictions = items.column("prediction").to_pylist()
        answers.append([task, items.column("item").to_pylist(), predictions])
    return sha256_json(answers)


def _format_columns(frame: pd.DataFrame) -> ShownColumns:
    return {
        "Model": frame["model"],
        "Precision": frame["precision"],
        "Commit": frame["commit"].astype("string").str[:7],
        "Protocol": frame["protocol"].astype("string").str.replace("_", "-"),
        "Found": frame["detail"],
    }


def main(
    board: Path, checks: Path, imports: list[Path], table: list[Path], tables: dict[str, Any]
) -> None:
    request = SuiteTables.of(tables)
    entries = leaderboard.read_entries(checks, imports, request.tasks)
    found = find_suspicious_rows(read_table(board), entries, request)
    title = "What is worth a look on the leaderboard"
    write_table(found, table, title=title, note=NOTE, shown=_format_columns(found))


if "snakemake" in globals():
    run_job(main, snakemake)
