"""Tabulate the prompt runs: accuracy, format, and what each changed against the run before.

In: results/scores/prompts.parquet, the records with their items, and the published scores. Out: the
table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    scores: Path, records: list[Path], published: Path, csv: Path, md: Path, tex: Path, **settings
) -> None:
    import pandas as pd

    from workflow_scripts.studies.prompts.runs import prompt_runs, read_right, write_prompt_table

    # As text: the table shows the figures as they were printed.
    theirs = pd.read_csv(published, dtype="string")
    table = prompt_runs(pd.read_parquet(scores), read_right(records), theirs, **settings)
    write_prompt_table(table, csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.records],
            Path(snakemake.input.published),
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            **snakemake.params.settings,
        )
