"""Draw one figure of a study, by the module that describes it.

In: what the figure's declaration names, and its request. Out: the figure as PDF and PNG.
"""

from importlib import import_module
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(module: str, inputs: dict, request: dict, pdf: Path, png: Path) -> None:
    from workflow_scripts.render.inputs import Inputs

    figure = import_module(f"workflow_scripts.{module}").FIGURE
    figure.draw(Inputs(inputs), figure.asks.of(request), pdf, png)


if "snakemake" in globals():
    with step(snakemake):
        main(
            snakemake.params.figure,
            dict(snakemake.input.items()),
            snakemake.params.request,
            Path(snakemake.output.pdf),
            Path(snakemake.output.png),
        )
