"""Tabulate the accuracy of each prompt run by subject.

In: results/scores/prompts.parquet. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(scores: Path, csv: Path, md: Path, tex: Path, **settings) -> None:
    import pandas as pd

    from workflow_scripts.studies.prompts.by_subject import (
        prompt_runs_by_subject,
        write_subject_table,
    )

    write_subject_table(prompt_runs_by_subject(pd.read_parquet(scores), **settings), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
