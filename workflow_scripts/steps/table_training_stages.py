"""Tabulate the perplexity of each checkpoint after each stage, and what the stage trained.

In: results/scores/training.parquet and the training records. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path, records: list[Path], csv: Path, md: Path, tex: Path, checkpoints: list[str]
) -> None:
    import pandas as pd

    from workflow_scripts.core.training_record import read_training_record
    from workflow_scripts.studies.training.stages import stages_table, write_stages_table

    trained = [read_training_record(path) for path in records]
    table = stages_table(pd.read_parquet(scores), trained, checkpoints)
    write_stages_table(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.records],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            snakemake.params.settings["checkpoints"],
        )
