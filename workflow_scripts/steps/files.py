"""Make files from others, by the function that their rule names.

In: what the rule names, and its request. Out: what the rule names.
"""

from importlib import import_module
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(function: str, inputs: dict, request: dict, outputs: dict) -> None:
    from workflow_scripts.render.inputs import Inputs

    module, _, name = function.rpartition(".")
    make = getattr(import_module(f"workflow_scripts.{module}"), name)
    make(Inputs(inputs), request, {key: Path(path) for key, path in outputs.items()})


if "snakemake" in globals():
    with step(snakemake):
        main(
            snakemake.params.function,
            dict(snakemake.input.items()),
            snakemake.params.request,
            dict(snakemake.output.items()),
        )
