"""Tabulate the leaderboard: the suite's scores of every row, and their average.

In: results/scores/suite.parquet and the checks of the requests. Out: the table as CSV, Markdown and
LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path,
    checks: Path,
    csv: Path,
    md: Path,
    tex: Path,
    *,
    tasks: list[dict],
    flags: list[dict],
) -> None:
    import pandas as pd

    from workflow_scripts.studies.suite.leaderboard import (
        suite_leaderboard,
        write_suite_leaderboard,
    )
    from workflow_scripts.studies.suite.requests import read_checks

    table = suite_leaderboard(pd.read_parquet(scores), read_checks(checks), tasks, flags)
    write_suite_leaderboard(table, tasks, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            Path(snakemake.input.checks),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
