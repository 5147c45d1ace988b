"""Draw accuracy and format run by run, the published scores beside our own.

In: the table of the prompt runs as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.prompts.runs import write_prompt_figure

    write_prompt_figure(pd.read_csv(table), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.table), Path(snakemake.output.pdf), Path(snakemake.output.png))
