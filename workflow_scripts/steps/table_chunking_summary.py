"""Sum up each chunked checkpoint in one line: parameters, MMLU, perplexity, time.

In: those tables of the study that the config has made, as CSV. Out: the table as CSV, Markdown and LaTeX.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    tables: dict[str, Path], csv: Path, md: Path, tex: Path, *, checkpoints: list[dict]
) -> None:
    import pandas as pd

    from workflow_scripts.studies.chunking.summary import chunking_summary, write_summary_table

    read = {name: pd.read_csv(path) for name, path in tables.items()}
    write_summary_table(chunking_summary(checkpoints, **read), csv, md, tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            {name: Path(snakemake.input[name]) for name in snakemake.params.settings["tables"]},
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
            checkpoints=snakemake.params.settings["checkpoints"],
        )
