"""Prepare the check of the leaderboard's requests: each request, and where the records of its row will lie."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.files import write_json
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.job_batches import suite_records
from workflow_scripts.settings.leaderboard_submissions import ASIDE, GENERATED, Request
from workflow_scripts.settings.settings import Settings

# Stands for any; its digits repeat nothing, which Snakemake would take for a mistake.
_ANY_COMMIT = "9a3c5e1f7b2d4068ace13579bdf02468f1e0d2c3"


def check_requests(
    settings: Settings,
    *,
    generated: Collection[str],
    source: Callable[[str, str | None], str],
    manifest: Callable[[CheckpointId], str],
) -> dict[str, Any]:
    """Describe the requests that can be read by the names of their files, and why the others are refused.

    `generated` are the models of the miniature world; `source` is given a model and perhaps a commit, and returns
    what it is checked by.
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
        row = request.row.in_path
        submissions[file] = {
            "sources": [source(name, revision) for name, revision in revisions.items()],
            "request": request.model_dump(mode="json"),
            "row": row,
            "built": manifest(request.checkpoint) if request.checkpoint.variant else None,
            "records": suite_records(settings, request.protocol, row),
        }
    return {
        "submissions": submissions,
        "refused": refused,
        "aside": dict(settings.requests_aside),
        "rules": {
            "memory_mb": settings.suite.memory_mb,
            "open_licences": list(settings.suite.open_licences),
            "on_gpu": settings.on_gpus,
        },
    }


def write_checks(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write an entry a request: why it is refused, or what it is, and where its records will lie."""
    from workflow_scripts.hub.submission import Rules, check

    submissions = request["submissions"]
    sources = {file: list(map(Path, one["sources"])) for file, one in submissions.items()}
    requests = {file: Request.model_validate(one["request"]) for file, one in submissions.items()}
    verdicts = check(requests, sources, Rules(**request["rules"]))
    unread: dict[str, Any] = {"request": None, "row": None, "built": None, "records": {}}
    entries = [
        {"file": file, **submission, **verdicts[file]} for file, submission in submissions.items()
    ]
    entries += [
        {"file": file, **unread, "reason": reason} for file, reason in request["refused"].items()
    ]
    entries += [
        {"file": file, **unread, "reason": reason, "status": ASIDE}
        for file, reason in request["aside"].items()
    ]
    write_json(outputs["checks"], sorted(entries, key=lambda entry: entry["file"]))


def as_if_accepted(requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Take every request that can be read, at a commit that stands for any where it names none."""
    return [
        {
            "row": submission["row"],
            "records": submission["records"],
            "commit": submission["request"]["revision"] or _ANY_COMMIT,
            "base_commit": _ANY_COMMIT,
        }
        for submission in requests["submissions"].values()
    ]


if "snakemake" in globals():
    run_job(write_checks, snakemake)
