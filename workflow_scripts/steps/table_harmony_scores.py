"""Tabulate each score of the Harmony grid beside chance and the best fixed answer.

In: results/scores/harmony.parquet and imported scores. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path,
    imported: list[Path],
    csv: Path,
    md: Path,
    tex: Path,
    *,
    models: list[dict],
    tasks: list[dict],
    metrics: dict[str, str],
) -> None:
    import pandas as pd

    from workflow_scripts.scores.tidy import import_all
    from workflow_scripts.studies.harmony.scores import (
        harmony_scores,
        write_harmony_scores_table,
    )

    theirs = import_all(imported, metrics, taken={"harmony"})
    table = harmony_scores(pd.read_parquet(scores), models, tasks, theirs)
    write_harmony_scores_table(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.imported],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
