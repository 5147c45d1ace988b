"""Tabulate each score of the Harmony grid beside chance and the best fixed answer.

In: results/scores/harmony.parquet. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(
    scores: Path, csv: Path, md: Path, tex: Path, *, models: list[dict], tasks: list[dict]
) -> None:
    import pandas as pd

    from workflow_scripts.reporting.harmony_scores import (
        harmony_scores,
        write_harmony_scores_table,
    )

    table = harmony_scores(pd.read_parquet(scores), models, tasks)
    write_harmony_scores_table(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            models=snakemake.params.models,
            tasks=snakemake.params.tasks,
        )
