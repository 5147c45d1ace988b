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
    "Refused: rejected by the check, for the given reason; where the hub did not answer, the next run asks again."
    " Pending: accepted, not yet measured on all tasks. Failed: a task could not be measured; the next run tries"
    " again."
)
_COLUMNS = ["request", "name", "precision", "model_type", "weight_type", "note"]
_COLUMNS += ["commit", "licence", "parameters", "status", "reason", "log"]


def read_checks(path: Path) -> list[dict[str, Any]]:
    """Read the entries of checks.json, each with the fields of its request and its number of parameters."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return [
        (entry["request"] or {}) | entry | {"parameters": get_parameters(entry)}
        for entry in entries
    ]


def get_parameters(entry: dict[str, Any]) -> int | None:
    """Return a model's number of parameters; its base's for a checkpoint that this workflow has not built yet."""
    built = Path(entry.get("built") or "")
    if built.is_file():
        return json.loads(built.read_text(encoding="utf-8"))["parameters"]
    return entry.get("parameters")


def get_status(entry: dict[str, Any]) -> dict[str, str]:
    """Return the status of a request, and the reason and the log if there are any."""
    if entry["reason"]:
        return {"status": "refused", "reason": entry["reason"]}
    status = "finished"
    for task, path in entry["records"].items():
        if not Path(path).is_file():
            status = "pending"
            continue
        try:
            record = read_record_numbers(Path(path))
        except UserError as error:
            return {"status": "failed", "reason": f"{task}: {error}"}
        if isinstance(record, FailedRecord):
            return {"status": "failed", "reason": f"{task}: {record.reason}", "log": record.log}
    return {"status": status}


def main(checks: Path, table: list[Path]) -> None:
    entries = read_checks(checks)
    rows = [entry | {"request": entry["file"]} | get_status(entry) for entry in entries]
    requests = pd.DataFrame(rows, columns=_COLUMNS).astype({"parameters": "Int64"})
    shown = requests[["request", "name", "precision", "status", "reason", "log"]]
    columns = shown.rename(columns=str.capitalize).rename(columns={"Name": "Model"})
    title = "Requests for the leaderboard"
    write_table(requests, table, title=title, note=NOTE, shown=columns)


if "snakemake" in globals():
    run_job(main, snakemake)
