"""Format what a run prints at its end; stdlib only, because the Snakefile imports this module."""

import re
from collections.abc import Iterable
from pathlib import Path

from workflow_scripts.core.clean_text import clean_lines
from workflow_scripts.core.failed_cells import clear_failed_cells, list_failed_cells

# Targets that answer a question write a text for the terminal.
_ANSWERS = ("plan.txt", "check_cluster.txt", "requests/submitted.txt", "compare.txt")
_PLACES = (
    "explained_prompt.txt",
    "explained_training.txt",
    "tables",
    "figures",
    "report/index.html",
    "report/leaderboard.html",
)
_FAILED_JOB = re.compile(
    r"^Error in rule (\w+)[:,].*?^\s+log: ([^\n]*?)(?: \(check|$)", re.S | re.M
)


def describe_success(since: float) -> str:
    """Return the answers that were written after `since`, the paths of other new results, and the failed cells."""

    def find_new(names: Iterable[str]) -> list[Path]:
        paths = [Path("results", name) for name in names]
        return [path for path in paths if path.exists() and path.stat().st_mtime >= since]

    answers = [path.read_text(encoding="utf-8") for path in find_new(_ANSWERS)]
    places = map(str, find_new(_PLACES))
    return clean_lines("\n".join(["", *answers, *places, *_list_failed_cells()]))


def describe_failure(logs: Iterable[str]) -> str:
    """Describe the failed jobs with their logs, read from Snakemake's logs, and the failed cells."""
    text = "\n".join(Path(log).read_text(encoding="utf-8", errors="replace") for log in logs)
    failed = dict.fromkeys(f"  {rule}: {path}" for rule, path in _FAILED_JOB.findall(text))
    lines = [
        "",
        "Some jobs failed. Fix the cause and run the same command again; finished jobs are kept.",
        *(["Logs of failed jobs:", *failed] if failed else []),
        *_list_failed_cells(),
    ]
    return clean_lines("\n".join(lines))


def _list_failed_cells() -> list[str]:
    """Describe the failed cells, and remove their notes and records so that the next run retries them."""
    cells = [
        f"  {cell['record']}: {cell['reason']} ({cell['log']})" for cell in list_failed_cells()
    ]
    clear_failed_cells()
    return ["Failed cells, which the next run tries again:", *cells] if cells else []
