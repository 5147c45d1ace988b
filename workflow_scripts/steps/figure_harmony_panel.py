"""Draw the place of each model on the published panel, with its interval.

In: the table harmony_panel as CSV, and the published leaderboard. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, published: Path, pdf: Path, png: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.panel import write_harmony_panel_figure

    write_harmony_panel_figure(pd.read_csv(table), pd.read_csv(published), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.table),
            Path(snakemake.input.published),
            Path(snakemake.output.pdf),
            Path(snakemake.output.png),
        )
