"""What the terminal says at the end of a run; stdlib only, because the Snakefile imports it."""

import re
from collections.abc import Iterable
from pathlib import Path

from workflow_scripts.core.clean_text import clean_lines
from workflow_scripts.core.failed_cells import clear_failed_cells, list_failed_cells

# Written by `snakemake plan`, `check_cluster` and `submit`, whose answers they are.
_ANSWERS = ("plan.txt", "check_cluster.txt", "requests/submitted.txt")
_PLACES = {
    "report/index.html": "the report: all studies on one page",
    "tables": "the tables, as CSV, Markdown and TeX",
    "scores.csv": "every score, one a row",
}
_FAILED_JOB = re.compile(
    r"^Error in rule (\w+)[:,].*?^\s+log: ([^\n]*?)(?: \(check|$)", re.S | re.M
)


def describe_success(since: float) -> str:
    """Return the answers that were written since then, where results lie, and which cells failed."""
    answers = [Path("results", name) for name in _ANSWERS]
    lines = [path.read_text(encoding="utf-8") for path in answers if _is_new(path, since)]
    if not lines:
        lines = [
            f"results/{name}: {words}"
            for name, words in _PLACES.items()
            if Path("results", name).exists()
        ]
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


def _is_new(path: Path, since: float) -> bool:
    return path.exists() and path.stat().st_mtime >= since
