"""Make one table of a study, by the module that describes it.

In: what the table's declaration names, and its request. Out: the table as CSV, Markdown and LaTeX.
"""

from importlib import import_module
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(module: str, inputs: dict, request: dict, csv: Path, md: Path, tex: Path) -> None:
    from workflow_scripts.render.inputs import Inputs

    table = import_module(f"workflow_scripts.{module}").TABLE
    typed = table.asks.of(request)
    table.write(table.make(Inputs(inputs), typed), typed, csv=csv, md=md, tex=tex)


if "snakemake" in globals():
    with step(snakemake):
        main(
            snakemake.params.table,
            dict(snakemake.input.items()),
            snakemake.params.request,
            Path(snakemake.output.csv),
            Path(snakemake.output.md),
            Path(snakemake.output.tex),
        )
