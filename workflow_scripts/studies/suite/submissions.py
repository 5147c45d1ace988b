"""What the check of the leaderboard's requests is asked: each request, and where its row will lie."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import write_json
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import suite_logs, suite_records
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.requests import ASIDE, GENERATED, Request

# Stands for any; its digits repeat nothing, which Snakemake would take for a mistake.
_ANY_COMMIT = "9a3c5e1f7b2d4068ace13579bdf02468f1e0d2c3"


class Submission(StepRequest):
    source: str  # what it is checked by: the hub folder's model, or what was fetched to check it
    base_source: str | None = None  # the same of a delta's base
    request: Request
    row: str
    built: str | None  # the manifest of a checkpoint that this workflow makes
    records: dict[str, str]  # by task
    logs: dict[str, str]


class CheckRequests(StepRequest):
    """The files of requests by name: those that can be read, and of each other one why not."""

    submissions: dict[str, Submission]
    refused: dict[str, str]
    aside: dict[str, str]
    memory_mb: int
    open_licences: tuple[str, ...]
    on_gpu: bool  # whether jobs have one

    @property
    def sources(self) -> dict[str, list[str]]:
        """What each file is checked by."""
        return {
            file: [one.source, *([one.base_source] if one.base_source else [])]
            for file, one in self.submissions.items()
        }


def check_requests(
    settings: Settings,
    *,
    generated: Collection[str],
    source: Callable[[str, str | None], str],
    manifest: Callable[[CheckpointId], str],
) -> CheckRequests:
    """`source` is given a model and a commit, or null for the newest.

    `generated` are the models of the miniature world: there is nothing else to fetch of it, and a name that it lacks
    must stop no other.
    """
    unknown = {
        file: f"{key} is {name!r}, and there is no such model in the miniature world."
        for file, request in settings.requests.items()
        for key, name in (("base", request.base), ("name", request.checkpoint.model))
        if name and name.startswith(GENERATED) and name.removeprefix(GENERATED) not in generated
    }
    return CheckRequests(
        submissions={
            file: Submission(
                source=source(request.checkpoint.model, request.revision),
                base_source=source(request.base, None) if request.base else None,
                request=request,
                row=request.row.in_path,
                built=manifest(request.checkpoint) if request.checkpoint.variant else None,
                records=suite_records(settings, request.protocol, request.row.in_path),
                logs=suite_logs(settings, request.protocol, request.row.in_path),
            )
            for file, request in settings.requests.items()
            if file not in unknown
        },
        refused=settings.refused_requests | unknown,
        aside=settings.requests_aside,
        memory_mb=settings.suite.memory_mb,
        open_licences=settings.suite.open_licences,
        on_gpu=settings.on_gpus,
    )


def write_checks(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """An entry a request: why it is refused, or what it is, and where its records and logs will lie."""
    from workflow_scripts.hub.submission import Rules, check

    asked = CheckRequests.of(request)
    read = asked.submissions
    verdicts = check(
        {file: one.request for file, one in read.items()},
        {file: Path(one.source) for file, one in read.items()},
        Rules(memory_mb=asked.memory_mb, open_licences=asked.open_licences, on_gpu=asked.on_gpu),
        bases={file: Path(one.base_source) for file, one in read.items() if one.base_source},
    )
    verdicts |= {file: {"reason": why} for file, why in asked.refused.items()}
    verdicts |= {file: {"reason": why, "status": ASIDE} for file, why in asked.aside.items()}
    known = {
        file: one.model_dump(mode="json", exclude={"source", "base_source"})
        for file, one in read.items()
    }
    unread: dict[str, Any] = {
        "request": None,
        "row": None,
        "built": None,
        "records": {},
        "logs": {},
    }
    entries = [
        {"file": file, **known.get(file, unread), **verdicts[file]} for file in sorted(verdicts)
    ]
    write_json(outputs["checks"], entries)


def as_if_accepted(request: CheckRequests, last: Path) -> list[dict[str, Any]]:
    """Every request that can be read, at the commit of an earlier check, or at one that stands for any."""
    checked = json.loads(last.read_text(encoding="utf-8")) if last.exists() else []
    commits = {one["row"]: one.get("commit") for one in checked}
    base_commits = {one["row"]: one.get("base_commit") for one in checked}
    return [
        {
            "row": one.row,
            "records": one.records,
            "commit": one.request.revision or commits.get(one.row) or _ANY_COMMIT,
            "base_commit": base_commits.get(one.row) or _ANY_COMMIT,
        }
        for one in request.submissions.values()
    ]
