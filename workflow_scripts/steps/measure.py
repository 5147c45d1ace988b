"""Measure models, or ask them something, by the function that the rule names.

In: the manifests of the models and datasets. Out: what the function writes of each model, each file with
its items beside it. A long one leaves answers to resume from; its rule names, as `reader`, what reads a
finished one.
"""

from pathlib import Path
from typing import get_type_hints

from workflow_scripts.bridge.step import step


def main(
    function: str,
    models: list[Path],
    data: list[Path],
    outputs: list[Path],
    version: str,
    request: dict | list[dict],
    reader: str | None = None,
) -> None:
    """The function is told a request of the type that its `asked` has, or one after the other of several."""
    from datasets import disable_progress_bars

    from workflow_scripts.core.named import named
    from workflow_scripts.evaluation.each_model import measure_each
    from workflow_scripts.hub.manifest import hub_of

    disable_progress_bars()  # the log is a file
    measure = named(function)
    hints = get_type_hints(measure)
    requests = [
        hints["asked"].of(one) for one in ([request] if isinstance(request, dict) else request)
    ]
    if "models" in hints:  # of all of them together
        measure(models, hub_of(data[0]), *outputs, *requests)
        return
    measure_each(measure, models, requests, data, outputs, version=version, reader=reader)


if "snakemake" in globals():
    with step(snakemake):
        main(
            snakemake.params.function,
            [Path(path) for path in snakemake.input if path not in snakemake.input.data],
            [Path(path) for path in snakemake.input.data],
            [Path(path) for path in snakemake.output if not path.endswith(".parquet")],
            snakemake.params.version,
            snakemake.params.request,
            snakemake.params.get("reader"),
        )
