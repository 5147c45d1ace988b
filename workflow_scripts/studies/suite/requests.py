"""Read the checked requests, and make the table of how each stands."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.records import Broken, read_without_items
from workflow_scripts.render.tables import ShownColumns, write_table

REFUSED, PENDING, FINISHED, FAILED = "refused", "pending", "finished", "failed"
_COLUMNS = [
    *("request", "name", "precision", "model_type", "weight_type", "protocol", "note", "commit"),
    *("licence", "parameters", "status", "reason", "log"),
]


def read_checks(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))


def accepted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if not entry["reason"]]


def parameters_of(entry: dict[str, Any]) -> int | None:
    """A checkpoint's own once it was built; until then its base's, by which it was checked."""
    built = entry.get("built")
    if built and Path(built).is_file():
        return json.loads(Path(built).read_text(encoding="utf-8"))["parameters"]
    return entry.get("parameters")


def get_status(entry: dict[str, Any]) -> dict[str, str | None]:
    """Get status, reason and log."""
    if entry["reason"]:
        return {"status": entry.get("status") or REFUSED, "reason": entry["reason"], "log": None}
    status = FINISHED
    for task, path in entry["records"].items():
        if not Path(path).is_file():
            status = PENDING
            continue
        try:
            record = read_without_items(Path(path))
        except UserError as error:
            return {"status": FAILED, "reason": f"{task}: {error.problems[0]}", "log": None}
        if isinstance(record, Broken):
            return {"status": FAILED, "reason": f"{task}: {record.reason}", "log": record.log}
    return {"status": status, "reason": None, "log": None}


def make_requests_table(entries: list[dict[str, Any]]) -> pd.DataFrame:
    fields = ("name", "precision", "model_type", "weight_type", "protocol", "note")
    rows = [
        {
            "request": entry["file"],
            **{field: (entry["request"] or {}).get(field) for field in fields},
            **{field: entry.get(field) for field in ("commit", "licence")},
            "parameters": parameters_of(entry),
            **get_status(entry),
        }
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"parameters": "Int64"})


def submit(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the verdicts beside the checks, a line each, for the end of a command."""
    (checks,) = inputs["checks"]
    lines = []
    for entry in read_checks(checks):
        status = get_status(entry)
        lines.append(f"{status['status']:<10} {entry['file']}")
        if entry["request"]:
            lines[-1] += f": {entry['request']['name']} in {entry['request']['precision']}"
        if status["reason"]:
            lines[-1] += f": {status['reason']}"
    text = "\n".join(map(plain, lines))
    print(text)
    write_text(checks.with_name("submitted.txt"), text + "\n")


def _format_columns(frame: pd.DataFrame) -> ShownColumns:
    shown = frame[["request", "name", "precision", "status", "reason", "log"]]
    return dict(shown.rename(columns=str.capitalize).rename(columns={"Name": "Model"}))


NOTE = (
    "Refused: the request was checked, and the reason says what to correct. Unchecked: the hub could not"
    " be asked about it; the next run asks again. Left aside: its model is of another source than this"
    " config's. Pending: accepted, and not measured on all tasks. Failed: a task could not be measured;"
    " the next run tries it again."
)


def main(checks: Path, table: list[Path]) -> None:
    requests = make_requests_table(read_checks(checks))
    title = "Requests for the leaderboard"
    write_table(requests, table, title=title, note=NOTE, shown=_format_columns(requests))


if "snakemake" in globals():
    run_job(main, snakemake)
