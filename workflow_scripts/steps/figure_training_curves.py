"""Draw the losses of all trainings, step by step: one panel a stage, one colour a variant.

In: the training records. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(records: list[Path], pdf: Path, png: Path) -> None:
    from workflow_scripts.core.training_record import read_training_record
    from workflow_scripts.studies.training.curves import write_curves_figure

    write_curves_figure([read_training_record(path) for path in records], pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(
            [Path(path) for path in snakemake.input.records],
            Path(snakemake.output.pdf),
            Path(snakemake.output.png),
        )
