"""Read the checked requests, and make the table of their status."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import FailedRecord, read_record_numbers
from workflow_scripts.render.tables import write_table

NOTE = (
    "Refused: rejected by the check, for the given reason. Unchecked: the hub did not answer; the next run asks again."
    " Pending: accepted, not yet measured on all tasks. Failed: a task could not be measured; the next run tries"
    " again."
)
_FROM_REQUEST = ["name", "precision", "model_type", "weight_type", "protocol", "note"]
_FROM_ENTRY = ["commit", "licence"]


def read_checks(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))


def get_parameters(entry: dict[str, Any]) -> int | None:
    """Return a checkpoint's number of parameters, or its base's until the checkpoint is built."""
    built = Path(entry.get("built") or "")
    if built.is_file():
        return json.loads(built.read_text(encoding="utf-8"))["parameters"]
    return entry.get("parameters")


def get_status(entry: dict[str, Any]) -> dict[str, str | None]:
    """Return status, reason and log of a request."""
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
            return {"status": "failed", "reason": f"{task}: {error}", "log": None}
        if isinstance(record, FailedRecord):
            return {"status": "failed", "reason": f"{task}: {record.reason}", "log": record.log}
    return {"status": status, "reason": None, "log": None}


def make_requests_table(entries: list[dict[str, Any]]) -> pd.DataFrame:
    rows = [
        (entry["request"] or {})
        | {"request": entry["file"], "parameters": get_parameters(entry)}
        | {field: entry.get(field) for field in _FROM_ENTRY}
        | get_status(entry)
        for entry in entries
    ]
    columns = ["request", *_FROM_REQUEST, *_FROM_ENTRY, "parameters", "status", "reason", "log"]
    return pd.DataFrame(rows, columns=columns).astype({"parameters": "Int64"})


def main(checks: Path, table: list[Path]) -> None:
    requests = make_requests_table(read_checks(checks))
    shown = requests[["request", "name", "precision", "status", "reason", "log"]]
    columns = shown.rename(columns=str.capitalize).rename(columns={"Name": "Model"})
    title = "Requests for the leaderboard"
    write_table(requests, table, title=title, note=NOTE, shown=columns)


if "snakemake" in globals():
    run_job(main, snakemake)
