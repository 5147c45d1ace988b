"""Draw how well each task agrees with the others, beside its noise ceiling.

In: the table harmony_agreement as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path, *, tasks: list[dict]) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.agreement_by_task import write_harmony_agreement_by_task

    write_harmony_agreement_by_task(pd.read_csv(table), tasks, pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.table),
            Path(snakemake.output.pdf),
            Path(snakemake.output.png),
            **snakemake.params.settings,
        )
