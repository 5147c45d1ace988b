"""Tabulate every request for the leaderboard and how it stands.

In: the checks of the requests, and the records. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(checks: Path, csv: Path, md: Path, tex: Path) -> None:
    from workflow_scripts.bridge.run_lock import run_under_way
    from workflow_scripts.studies.suite.requests import read_checks, requests
    from workflow_scripts.studies.suite.requests_table import write_requests_table

    rows = requests(read_checks(checks), run_under_way(Path(".snakemake")))
    write_requests_table(rows, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        out = snakemake.output
        main(Path(snakemake.input.checks), Path(out.csv), Path(out.md), Path(out.tex))
