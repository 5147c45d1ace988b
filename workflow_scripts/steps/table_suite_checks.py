"""Tabulate what an automatic look at the leaderboard finds.

In: the leaderboard, the checks of the requests, and the records. Out: the table as CSV, Markdown and
LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    leaderboard: Path,
    checks: Path,
    csv: Path,
    md: Path,
    tex: Path,
    *,
    tasks: list[dict],
    flags: list[dict],
    source: str,
) -> None:
    from workflow_scripts.studies.suite.checks import suite_checks, write_suite_checks
    from workflow_scripts.studies.suite.leaderboard import read_leaderboard
    from workflow_scripts.studies.suite.requests import read_checks

    board = read_leaderboard(leaderboard)
    table = suite_checks(board, read_checks(checks), tasks, flags, source)
    write_suite_checks(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.leaderboard),
            Path(snakemake.input.checks),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
