"""Tabulate the bits per byte of each text, before and after training on it.

In: results/scores/corpora.parquet. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(scores: Path, csv: Path, md: Path, tex: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.perplexity import (
        perplexity_table,
        write_perplexity_table,
    )

    write_perplexity_table(perplexity_table(pd.read_parquet(scores)), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
        )
