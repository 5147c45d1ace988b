"""Tabulate what leaving layers out costs in perplexity and saves in time.

In: the scores of the studies chunking and latency. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(perplexity: Path, latency: Path, csv: Path, md: Path, tex: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.chunking.pruning import pruning_table, write_pruning_table

    table = pruning_table(pd.read_parquet(perplexity), pd.read_parquet(latency))
    write_pruning_table(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.perplexity),
            Path(snakemake.input.latency),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
        )
