"""Find rows of the leaderboard that are worth a look by a person."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import suggest_name
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import FailedRecord, read_record
from workflow_scripts.render.tables import ShownColumns, read_table, write_table
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import get_metric_minimum
from workflow_scripts.stats.shares import errors_above
from workflow_scripts.studies.suite.leaderboard import Task, marks
from workflow_scripts.studies.suite.requests import accepted, read_checks

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
    table: pd.DataFrame,
    entries: list[dict[str, Any]],
    tasks: Sequence[Task],
    flags: Sequence[dict[str, Any]] = (),
) -> pd.DataFrame:
    """Make one row per finding, in the order of the leaderboard `table`; flags that mark no row come last."""
    copies = _find_copies(entries, tasks)
    findings = []
    for _, row in table.iterrows():
        facts = row[_ROW].to_dict()
        by_check: dict[str, list[Task]] = {}
        for task in tasks:
            for check in _check_score(row, task["task"], table, task["metric"]):
                by_check.setdefault(check, []).append(task)
        for check, of_check in by_check.items():
            titles = ", ".join(task["title"] for task in of_check)
            names = " ".join(task["task"] for task in of_check)
            detail = f"{check.capitalize()}: {titles}."
            findings.append(facts | {"check": check, "tasks": names, "detail": detail})
        if row["file"] in copies:
            detail = f"Answers every item as {', '.join(copies[row['file']])} does."
            findings.append(facts | {"check": "alike", "tasks": "", "detail": detail})
    models = sorted({entry["request"]["name"] for entry in entries if entry["request"]})
    for flag in flags:
        if not any(marks(flag, entry) for entry in accepted(entries)):
            hint = "" if flag["model"] in models else suggest_name(flag["model"], models)
            finding = {"model": flag["model"], "precision": flag["precision"]}
            detail = f"Its flag marks no accepted row.{hint}"
            finding |= {"commit": flag["revision"], "check": LOST_FLAG, "detail": detail}
            findings.append(finding)
    return pd.DataFrame(findings, columns=_COLUMNS)


def _check_score(row: pd.Series, task: str, table: pd.DataFrame, metric: str) -> Iterator[str]:
    if pd.isna(row[task]):
        yield "missing"
        return
    parts = [f"{task}{part}" for part in ("", "_stderr", "_floor", "_n")]
    value, error, floor, n = row[parts].astype("Float64").astype(float)
    above = errors_above(value, error, floor, n, get_metric_minimum(pd.Series([metric]))[0])
    if not (pd.isna(floor) or above >= CLEAR):
        yield "at the floor"
    if value > SUSPICIOUS:
        yield f"above {SUSPICIOUS:.0%}"
    if n < table[f"{task}_n"].max():
        yield "fewer items"


def _find_copies(entries: list[dict[str, Any]], tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Find by request which other models gave every answer that it gave; a model is no copy of itself."""
    names: dict[str, set[str]] = {}
    digests = {}
    for entry in accepted(entries):
        digest = _digest_answers(entry) if len(entry["records"]) == len(tasks) else None
        if digest:
            digests[entry["file"]] = (digest, entry["request"]["name"])
            names.setdefault(digest, set()).add(entry["request"]["name"])
    copies = {file: sorted(names[digest] - {name}) for file, (digest, name) in digests.items()}
    return {file: others for file, others in copies.items() if others}


def _digest_answers(entry: dict[str, Any]) -> str | None:
    """Digest all predictions; None where some are missing or broken."""
    answers = []
    for task, path in sorted(entry["records"].items()):
        record = Path(path)
        if not record.is_file() or isinstance(read_record(record), FailedRecord):
            return None
        items = read_items(record.with_suffix(".parquet")).select(["item", "prediction"])
        answers.append([task, items.to_pylist()])
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
    board: Path,
    checks: Path,
    table: list[Path],
    tasks: list[Task],
    flags: list[dict[str, Any]],
) -> None:
    findings = find_suspicious_rows(read_table(board), read_checks(checks), tasks, flags)
    title = "What is worth a look on the leaderboard"
    write_table(findings, table, title=title, note=NOTE, shown=_format_columns(findings))


if "snakemake" in globals():
    run_job(main, snakemake)
