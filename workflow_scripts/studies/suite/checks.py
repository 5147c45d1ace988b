"""Find rows of the leaderboard that a person should look at."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import get_metric_minimum
from workflow_scripts.stats.shares import compute_baseline_z
from workflow_scripts.studies.suite.leaderboard import Task, format_rows, match_flag
from workflow_scripts.studies.suite.requests import read_checks, select_accepted

SUSPICIOUS = 0.95
NOTE = (
    "Automatic hints, not judgements. At the baseline: the score does not exceed the better of random answers and one"
    f" constant answer by {CLEAR} standard errors. Above {SUSPICIOUS:.0%}: rare unless test items were in the training"
    " data. Missing: a task without a score. Fewer items: than other rows have. Flag without a row: no"
    " accepted request has its model, precision and commit."
)
# One model may have a row under each protocol, so that a row is identified by its request's file.
_ROW = ["model", "precision", "commit", "protocol", "file"]


def find_suspicious_rows(
    table: pd.DataFrame,
    entries: list[dict[str, Any]],
    tasks: Sequence[Task],
    flags: Sequence[dict[str, Any]] = (),
) -> pd.DataFrame:
    """Make one row per finding, in the order of the leaderboard, and last the flags that mark no row."""
    findings = []
    for _, row in table.iterrows():
        facts = row[_ROW].to_dict()
        checks = [(check, task) for task in tasks for check in _check_score(row, task, table)]
        for check in dict.fromkeys(check for check, _ in checks):
            failing = [task for other, task in checks if other == check]
            detail = f"{check.capitalize()}: {', '.join(task['title'] for task in failing)}."
            ids = " ".join(task["task"] for task in failing)
            findings.append(facts | {"check": check, "tasks": ids, "detail": detail})
    for flag in flags:
        if not any(match_flag(flag, entry) for entry in select_accepted(entries)):
            finding = {"model": flag["model"], "precision": flag["precision"]}
            finding |= {"commit": flag["revision"], "check": "flag without a row"}
            findings.append(finding | {"detail": "Its flag marks no accepted row."})
    return pd.DataFrame(findings, columns=[*_ROW, "check", "tasks", "detail"])


def _check_score(row: pd.Series, task: Task, table: pd.DataFrame) -> Iterator[str]:
    parts = [task["task"] + part for part in ("", "_stderr", "_baseline", "_n")]
    value, stderr, baseline, n = row[parts].astype("Float64").astype(float)
    minimum = get_metric_minimum(pd.Series([task["metric"]]))[0]
    if pd.isna(value):
        yield "missing"
        return
    if compute_baseline_z(value, stderr, baseline, n, minimum) < CLEAR:
        yield "at the baseline"
    if value > SUSPICIOUS:
        yield f"above {SUSPICIOUS:.0%}"
    if n < table[f"{task['task']}_n"].max():
        yield "fewer items"


def main(
    board: Path,
    checks: Path,
    table: list[Path],
    tasks: list[Task],
    flags: list[dict[str, Any]],
) -> None:
    findings = find_suspicious_rows(read_table(board), read_checks(checks), tasks, flags)
    shown = format_rows(findings) | {"Finding": findings["detail"]}
    title = "Automatic checks of the leaderboard"
    write_table(findings, table, title=title, note=NOTE, shown=shown)


if "snakemake" in globals():
    run_job(main, snakemake)
