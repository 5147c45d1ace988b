"""Read the checked requests, and make the table of how each stands."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.core.records import FailedRecord, read_record_numbers
from workflow_scripts.render.frames import cells
from workflow_scripts.render.tables import write_table

NOTE = (
    "Refused: the request was checked, and the reason says what to correct. Unchecked: the hub could not"
    " be asked about it; the next run asks again. Left aside: its model is of another source than this"
    " config's. Pending: accepted, and not measured on all tasks. Failed: a task could not be measured;"
    " the next run tries it again."
)
_OF_REQUEST = ["name", "precision", "model_type", "weight_type", "protocol", "note"]


def read_checks(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))


def accepted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if not entry["reason"]]


def parameters_of(entry: dict[str, Any]) -> int | None:
    """Return a checkpoint's own number once it was built; until then its base's, by which it was checked."""
    built = entry.get("built")
    if built and Path(built).is_file():
        return json.loads(Path(built).read_text(encoding="utf-8"))["parameters"]
    return entry.get("parameters")


def get_status(entry: dict[str, Any]) -> dict[str, str | None]:
    """Get status, reason and log."""
    if entry["reason"]:
        return {"status": entry.get("status") or "refused", "reason": entry["reason"], "log": None}
    status = "finished"
    for task, path in entry["records"].items():
        if not Path(path).is_file():
            status = "pending"
            continue
        try:
            record = read_record_numbers(Path(path))
        except UserError as error:
            return {"status": "failed", "reason": f"{task}: {error.problems[0]}", "log": None}
        if isinstance(record, FailedRecord):
            return {"status": "failed", "reason": f"{task}: {record.reason}", "log": record.log}
    return {"status": status, "reason": None, "log": None}


def make_requests_table(entries: list[dict[str, Any]]) -> pd.DataFrame:
    rows = [
        {
            "request": entry["file"],
            **{field: (entry["request"] or {}).get(field) for field in _OF_REQUEST},
            "commit": entry.get("commit"),
            "licence": entry.get("licence"),
            "parameters": parameters_of(entry),
            **get_status(entry),
        }
        for entry in entries
    ]
    columns = ["request", *_OF_REQUEST, "commit", "licence", "parameters"]
    table = pd.DataFrame(rows, columns=[*columns, "status", "reason", "log"])
    return table.astype({"parameters": "Int64"})


def submit(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the verdicts beside the checks, a line each, for the end of a command."""
    (checks,) = inputs["checks"]
    lines = []
    for row in cells(make_requests_table(read_checks(checks))):
        model = f": {row['name']} in {row['precision']}" if row["name"] else ""
        reason = f": {row['reason']}" if row["reason"] else ""
        lines.append(plain(f"{row['status']:<10} {row['request']}{model}{reason}"))
    print("\n".join(lines))
    write_text(checks.with_name("submitted.txt"), "\n".join([*lines, ""]))


def main(checks: Path, table: list[Path]) -> None:
    requests = make_requests_table(read_checks(checks))
    shown = requests[["request", "name", "precision", "status", "reason", "log"]]
    columns = shown.rename(columns=str.capitalize).rename(columns={"Name": "Model"})
    title = "Requests for the leaderboard"
    write_table(requests, table, title=title, note=NOTE, shown=columns)


if "snakemake" in globals():
    run_job(main, snakemake)
