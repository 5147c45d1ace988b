"""Print the status of each leaderboard request, and write it to results/requests/submitted.txt."""

from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.clean_text import clean_line
from workflow_scripts.core.files import write_text
from workflow_scripts.studies.suite.requests import get_status, read_checks


def main(checks: Path) -> None:
    lines = []
    for entry in read_checks(checks):
        status = get_status(entry)
        model = entry["request"] and f"{entry['name']} in {entry['precision']}"
        details = filter(None, [entry["file"], model, status.get("reason")])
        lines.append(clean_line(f"{status['status']:<10} {': '.join(details)}"))
    text = "\n".join([*lines, ""])
    print(text, end="")
    write_text(checks.with_name("submitted.txt"), text)


if "snakemake" in globals():
    run_job(main, snakemake)
