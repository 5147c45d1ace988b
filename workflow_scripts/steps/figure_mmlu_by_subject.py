"""Draw which MMLU subjects stand above their floor, for each checkpoint and metric.

In: the table of MMLU by subject as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.mmlu.by_subject import write_mmlu_figure

    write_mmlu_figure(pd.read_csv(table), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.table), Path(snakemake.output.pdf), Path(snakemake.output.png))
