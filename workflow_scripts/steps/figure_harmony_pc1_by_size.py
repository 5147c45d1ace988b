"""Draw the first component of each model beside its size.

In: the table harmony_leaderboard as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.pc1_by_size import write_harmony_pc1_by_size

    write_harmony_pc1_by_size(pd.read_csv(table), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.table), Path(snakemake.output.pdf), Path(snakemake.output.png))
