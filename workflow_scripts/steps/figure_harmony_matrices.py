"""Draw the agreement of each pair of tasks, direct evaluation beside train-before-test.

In: the table harmony_agreement as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path, *, tasks: list[dict]) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.heatmaps import write_harmony_matrices

    write_harmony_matrices(pd.read_csv(table), tasks, pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.table),
            Path(snakemake.output.pdf),
            Path(snakemake.output.png),
            **snakemake.params.settings,
        )
