"""Tabulate how long each plan takes, fused and as a loop, beside the unchanged model.

In: results/scores/latency.parquet. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(scores: Path, csv: Path, md: Path, tex: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.chunking.latency import latency_table, write_latency_table

    write_latency_table(latency_table(pd.read_parquet(scores)), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
        )
