"""Draw the variance that each principal component explains, and the tasks' loadings.

In: the table harmony_components as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path, *, tasks: list[dict]) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.components import write_harmony_components_figure

    write_harmony_components_figure(pd.read_csv(table), tasks, pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.table),
            Path(snakemake.output.pdf),
            Path(snakemake.output.png),
            **snakemake.params.settings,
        )
