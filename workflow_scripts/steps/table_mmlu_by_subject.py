"""Tabulate MMLU by subject and checkpoint beside the floor and the published numbers.

In: results/scores/mmlu.parquet and the published tables. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path, published: list[Path], csv: Path, md: Path, tex: Path, *, checkpoints: list[dict]
) -> None:
    import pandas as pd

    from workflow_scripts.studies.mmlu.by_subject import mmlu_by_subject, write_mmlu_table

    theirs = {path.stem: pd.read_csv(path) for path in published}
    write_mmlu_table(mmlu_by_subject(pd.read_parquet(scores), checkpoints, theirs), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.published],
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
