"""Measure a model, or ask it something, as the module describes it that the rule names.

In: the manifests of the model and the datasets. Out: what the measurement writes, each file with its items
beside it. A long one leaves answers to resume from.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(
    module: str,
    models: list[Path],
    data: list[Path],
    outputs: dict[str, Path],
    version: str,
    request: dict[str, Any],
) -> None:
    measurement = import_module(f"workflow_scripts.{module}").MEASUREMENT
    measurement.run(models, data, outputs, version, request)


if "snakemake" in globals():
    with step(snakemake):
        models = snakemake.input.model
        main(
            snakemake.params.measurement,
            [Path(path) for path in ([models] if isinstance(models, str) else models)],
            [Path(path) for path in snakemake.input.data],
            {name: Path(path) for name, path in snakemake.output.items()},
            snakemake.params.version,
            snakemake.params.request,
        )
