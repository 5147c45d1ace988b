"""What the terminal says at the end of a run; stdlib only, because the Snakefile imports it."""

import re
from collections.abc import Iterable
from pathlib import Path

from workflow_scripts.core.clean_text import clean_lines
from workflow_scripts.core.failed_cells import clear_failed_cells, list_failed_cells

# What targets write to be shown; without any of them, the terminal names where results lie.
_ANSWERS = ("plan.txt", "check_cluster.txt", "requests/submitted.txt", "compare.txt")
_PLACES = {
    "report/index.html": "the report: all studies on one page",
    "figures": "the figures, as PDF and PNG",
    "tables": "the tables, as CSV, Markdown and TeX",
}
_FAILED_JOB = re.compile(
    r"^Error in rule (\w+)[:,].*?^\s+log: ([^\n]*?)(?: \(check|$)", re.S | re.M
)


def describe_success(since: float) -> str:
    """Describe what was made since then, where results lie, and which cells failed."""
    answers = [Path("results", name) for name in _ANSWERS]
    lines = [
        path.read_text(encoding="utf-8")
        for path in answers
        if path.exists() and path.stat().st_mtime >= since
    ]
    if not lines:
        places = {Path("results", name): words for name, words in _PLACES.items()}
        lines = [f"{place}: {words}" for place, words in places.items() if place.exists()]
    return clean_lines("\n".join(["", *lines, *_list_failed_cells()]))


def describe_failure(logs: Iterable[str]) -> str:
    """Return the logs of the jobs that failed, from Snakemake's own, and which cells failed."""
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
    """List the cells that failed, and remove what stands in place of their records: the next run tries them again."""
    cells = [
        f"  {cell['record']}: {cell['reason']} ({cell['log']})" for cell in list_failed_cells()
    ]
    clear_failed_cells()
    return ["Failed cells, which the next run tries again:", *cells] if cells else []
