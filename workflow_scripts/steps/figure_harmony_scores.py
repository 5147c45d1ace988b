"""Draw each score of the Harmony grid with its standard errors and the floor it must beat.

In: the table of harmony scores as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.scores import write_harmony_scores_figure

    write_harmony_scores_figure(pd.read_csv(table), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.table), Path(snakemake.output.pdf), Path(snakemake.output.png))
