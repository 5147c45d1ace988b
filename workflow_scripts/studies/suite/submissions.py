"""Check the leaderboard's requests, and write the verdicts."""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import write_json
from workflow_scripts.hub.submission import SubmissionRules, check_submissions


def main(checks: Path, request: dict[str, Any]) -> None:
    """Check the requests, and write an entry for each: its row and verdict, or the reason for refusing it."""
    submissions = request["submissions"]
    verdicts = check_submissions(submissions, SubmissionRules(**request["rules"]))
    entries = [{"file": file, **entry, **verdicts[file]} for file, entry in submissions.items()]
    for file, reason in request["refused"].items():
        entries.append({"file": file, "request": None, "reason": reason})
    write_json(checks, sorted(entries, key=lambda entry: entry["file"]))


if "snakemake" in globals():
    run_job(main, snakemake)
