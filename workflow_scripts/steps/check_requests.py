"""Check every request for the leaderboard before it costs anything.

In: of each submitted model the manifest, or what was fetched to check it. Out: a JSON list, an entry a
request, with the reason where it is refused and where its records and logs will lie.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(checks: Path, request: dict[str, Any]) -> None:
    from workflow_scripts.core.files import write_json
    from workflow_scripts.hub.submission import Rules, check
    from workflow_scripts.settings.requests import ASIDE
    from workflow_scripts.studies.suite.submissions import CheckRequests

    checks_request = CheckRequests.of(request)
    read = checks_request.submissions
    verdicts = check(
        {file: one.request for file, one in read.items()},
        {file: Path(one.source) for file, one in read.items()},
        Rules(
            memory_mb=checks_request.memory_mb,
            open_licences=checks_request.open_licences,
            on_gpu=checks_request.on_gpu,
        ),
        bases={file: Path(one.base_source) for file, one in read.items() if one.base_source},
    )
    verdicts |= {file: {"reason": why} for file, why in checks_request.refused.items()}
    verdicts |= {
        file: {"reason": why, "status": ASIDE} for file, why in checks_request.aside.items()
    }
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
    write_json(checks, entries)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.output.checks), snakemake.params.request)
