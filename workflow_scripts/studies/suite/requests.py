"""How each request for the leaderboard stands, told from files at any time, while a run is under way too.

    python -m workflow_scripts.studies.suite.requests [--directory runs/paper]

It says a line a request and changes nothing.
"""

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.records import Broken, read_without_items
from workflow_scripts.settings.requests import ASIDE, UNCHECKED

CHECKS = Path("results/requests/checks.json")
REFUSED, PENDING, FINISHED, FAILED = (
    "refused",
    "pending",
    "finished",
    "failed",
)


def read_checks(path: Path = CHECKS) -> list[dict[str, Any]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{path} is missing; `snakemake submit` checks the requests and writes it."
        ) from None


def accepted(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in checks if not entry["reason"]]


def parameters_of(entry: dict[str, Any]) -> int | None:
    """A checkpoint's own once it was built; until then its base's, by which it was checked."""
    built = entry.get("built")
    if built and Path(built).is_file():
        return json.loads(Path(built).read_text(encoding="utf-8"))["parameters"]
    return entry.get("parameters")


def status_of(entry: dict[str, Any]) -> dict[str, str | None]:
    """Return status, reason and log."""
    if entry["reason"]:
        return {"status": entry.get("status") or REFUSED, "reason": entry["reason"], "log": None}
    records = {task: Path(path) for task, path in entry["records"].items()}
    missing = [task for task, record in records.items() if not record.is_file()]
    for task, record in records.items():
        if task in missing:
            continue
        try:
            found = read_without_items(record)
        except UserError as error:  # damaged, and measured again only once it is set aside
            reason = f"{task}: {error.problems[0]}"
            return {"status": FAILED, "reason": reason, "log": entry["logs"][task]}
        if isinstance(found, Broken):
            return {"status": FAILED, "reason": f"{task}: {found.reason}", "log": found.log}
    if not missing:
        return {"status": FINISHED, "reason": None, "log": None}
    return {"status": PENDING, "reason": None, "log": None}


def requests(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a request: what was asked for, what is known of it, and how it stands."""
    fields = ("name", "precision", "model_type", "weight_type", "protocol", "note")
    return [
        {
            "request": entry["file"],
            **{field: (entry["request"] or {}).get(field) for field in fields},
            **{field: entry.get(field) for field in ("commit", "licence")},
            "parameters": parameters_of(entry),
            **status_of(entry),
        }
        for entry in checks
    ]


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """One for each request, for a terminal."""
    return [plain(_line(row)) for row in rows]


def _line(row: dict[str, Any]) -> str:
    what = row["request"]
    if row["name"]:
        what += f": {row['name']} in {row['precision']}"
    if row["status"] in (REFUSED, ASIDE, UNCHECKED):
        return f"{row['status']:<10} {what}: {row['reason']}"
    facts = f"{what}, {row['parameters']:,} parameters, {row['licence']}"
    reason = f": {row['reason']} ({row['log']})" if row["reason"] else ""
    return f"{row['status']:<10} {facts}{reason}"


def submit(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Beside the checks the same lines, which the terminal shows at the end of a command."""
    (checks,) = inputs["checks"]
    said = "\n".join(lines(requests(read_checks(checks))))
    print(said)
    write_text(checks.with_name("submitted.txt"), said + "\n")


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, default=Path(), help="the folder of the run")
    os.chdir(parser.parse_args().directory)
    try:
        found = requests(read_checks())
    except UserError as error:
        sys.exit(plain(str(error)))
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
