"""Draw the bits per byte of each text before and after training on it, by model.

In: the table of the same name as CSV. Out: the figure as PDF and PNG.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(table: Path, pdf: Path, png: Path) -> None:
    import pandas as pd

    from workflow_scripts.studies.harmony.perplexity import write_perplexity_figure

    write_perplexity_figure(pd.read_csv(table), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.input.table), Path(snakemake.output.pdf), Path(snakemake.output.png))
