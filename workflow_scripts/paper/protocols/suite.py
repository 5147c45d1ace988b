"""List where the leaderboard's rows are not asked as the Open LLM Leaderboard asked, from its records."""

from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.paper.protocols.differences import (
    compute_differences,
    format_columns,
    read_cells,
)
from workflow_scripts.render.tables import write_table
from workflow_scripts.scores.published_protocols import read_protocols

NOTE = (
    "What the records of the rows say of their protocol, where that of the Open LLM Leaderboard is known to"
    " be another, or not known. Cells: a row on a task. Decides: whether a score of that leaderboard is"
    " another number than ours for it. What is not listed is as there."
)


def main(records: list[Path], protocols: Path, table: list[Path]) -> None:
    results = compute_differences(read_cells(records), read_protocols(protocols))
    title = "Where the suite is not asked as on the Open LLM Leaderboard"
    write_table(results, table, title=title, note=NOTE, shown=format_columns(results))


if "snakemake" in globals():
    run_job(main, snakemake)
