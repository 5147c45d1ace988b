"""Prepare the check of the leaderboard's requests: each request, and where the records of its row will lie."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_json
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import suite_records
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.requests import ASIDE, GENERATED, Request

# Stands for any; its digits repeat nothing, which Snakemake would take for a mistake.
_ANY_COMMIT = "9a3c5e1f7b2d4068ace13579bdf02468f1e0d2c3"


class Submission(StepRequest):
    sources: tuple[str, ...]  # what the model, and the base of a delta, are checked by
    request: Request
    row: str
    built: str | None  # the manifest of a checkpoint that this workflow makes
    records: dict[str, str]  # by task


class CheckRequests(StepRequest):
    """By the names of their files: requests that can be read, and of each other one why not."""

    submissions: dict[str, Submission]
    refused: dict[str, str]
    aside: dict[str, str]
    memory_mb: int
    open_licences: tuple[str, ...]
    on_gpu: bool


def check_requests(
    settings: Settings,
    *,
    generated: Collection[str],
    source: Callable[[str, str | None], str],
    manifest: Callable[[CheckpointId], str],
) -> CheckRequests:
    """`generated` are the models of the miniature world; `source` is given a model and perhaps a commit."""
    submissions = {}
    refused = dict(settings.refused_requests)
    for file, request in settings.requests.items():
        names = [request.checkpoint.model, *([request.base] if request.base else [])]
        unknown = [
            name
            for name in names
            if name.startswith(GENERATED) and name.removeprefix(GENERATED) not in generated
        ]
        if unknown:
            refused[file] = f"there is no model {unknown[0]!r} in the miniature world."
            continue
        row = request.row.in_path
        submissions[file] = Submission(
            sources=[
                source(name, request.revision if name == names[0] else None) for name in names
            ],
            request=request,
            row=row,
            built=manifest(request.checkpoint) if request.checkpoint.variant else None,
            records=suite_records(settings, request.protocol, row),
        )
    return CheckRequests(
        submissions=submissions,
        refused=refused,
        aside=settings.requests_aside,
        memory_mb=settings.suite.memory_mb,
        open_licences=settings.suite.open_licences,
        on_gpu=settings.on_gpus,
    )


def write_checks(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write an entry a request: why it is refused, or what it is, and where its records will lie."""
    from workflow_scripts.hub.submission import Rules, check

    asked = CheckRequests.of(request)
    rules = Rules(memory_mb=asked.memory_mb, open_licences=asked.open_licences, on_gpu=asked.on_gpu)
    verdicts = check(
        {file: one.request for file, one in asked.submissions.items()},
        {file: [Path(path) for path in one.sources] for file, one in asked.submissions.items()},
        rules,
    )
    unread: dict[str, Any] = {"request": None, "row": None, "built": None, "records": {}}
    entries = [
        {"file": file, **one.model_dump(mode="json", exclude={"sources"}), **verdicts[file]}
        for file, one in asked.submissions.items()
    ]
    entries += [{"file": file, **unread, "reason": why} for file, why in asked.refused.items()]
    entries += [
        {"file": file, **unread, "reason": why, "status": ASIDE}
        for file, why in asked.aside.items()
    ]
    write_json(outputs["checks"], sorted(entries, key=lambda entry: entry["file"]))


def as_if_accepted(request: CheckRequests, last: Path) -> list[dict[str, Any]]:
    """Take every request that can be read, at the commit of an earlier check, or at one that stands for any."""
    checked = json.loads(last.read_text(encoding="utf-8")) if last.exists() else []
    earlier = {entry["row"]: entry for entry in checked}
    return [
        {
            "row": one.row,
            "records": one.records,
            "commit": one.request.revision or earlier.get(one.row, {}).get("commit") or _ANY_COMMIT,
            "base_commit": earlier.get(one.row, {}).get("base_commit") or _ANY_COMMIT,
        }
        for one in request.submissions.values()
    ]
