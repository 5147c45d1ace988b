"""Check the leaderboard's requests: collect the files to check and the records of each row, and write the verdicts."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import write_json
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.job_batches import list_cell_records
from workflow_scripts.settings.leaderboard_submissions import GENERATED
from workflow_scripts.settings.settings import Settings

# A placeholder without repeated groups of digits, which Snakemake would treat as a mistake.
_ANY_COMMIT = "9a3c5e1f7b2d4068ace13579bdf02468f1e0d2c3"


def check_requests(
    settings: Settings,
    *,
    generated: Collection[str],
    source: Callable[[str, str | None], str],
    manifest: Callable[[CheckpointId], str],
) -> dict[str, Any]:
    """Return the readable requests by file, and the reasons for refusing the others.

    `generated` are the models of the miniature world; `source` maps a model and an optional commit to the file to
    check, and `manifest` maps a checkpoint to its manifest.
    """
    submissions = {}
    refused = dict(settings.refused_requests)
    for file, request in settings.requests.items():
        revisions = {request.checkpoint.model: request.revision}
        if request.base:
            revisions[request.base] = None
        unknown = [
            name
            for name in revisions
            if name.startswith(GENERATED) and name.removeprefix(GENERATED) not in generated
        ]
        if unknown:
            refused[file] = f"there is no model {unknown[0]!r} in the miniature world."
            continue
        row = request.row
        records = list_cell_records(settings, "suite", "few_shot", row)
        submissions[file] = {
            "sources": [source(name, revision) for name, revision in revisions.items()],
            "request": request.model_dump(mode="json"),
            "row": row,
            "built": manifest(request.checkpoint) if request.checkpoint.variant else None,
            "records": {Path(record).stem: record for record in records},
        }
    return {
        "submissions": submissions,
        "refused": refused,
        "rules": {
            "memory_mb": settings.suite.memory_mb,
            "open_licences": list(settings.suite.open_licences),
            "on_gpu": settings.on_gpus,
        },
    }


def main(checks: Path, request: dict[str, Any]) -> None:
    """Check the requests, and write an entry for each: its row and verdict, or the reason for refusing it."""
    from workflow_scripts.hub.submission import Rules, check

    submissions = request["submissions"]
    verdicts = check(submissions, Rules(**request["rules"]))
    entries = [{"file": file, **entry, **verdicts[file]} for file, entry in submissions.items()]
    for file, reason in request["refused"].items():
        entries.append({"file": file, "request": None, "reason": reason})
    write_json(checks, sorted(entries, key=lambda entry: entry["file"]))


def accept_unchecked(requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Accept every readable request, with a placeholder commit if it names none."""
    commits = {"commit": _ANY_COMMIT, "base_commit": _ANY_COMMIT}
    entries = [commits | entry for entry in requests["submissions"].values()]
    return [entry | {"commit": entry["request"]["revision"] or _ANY_COMMIT} for entry in entries]


if "snakemake" in globals():
    run_job(main, snakemake)
