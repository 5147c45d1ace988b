"""Make files from others, by the function that their rule names.

In: what the rule names, and its request. Out: what the rule names.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(function: str, inputs: dict, request: dict, outputs: dict) -> None:
    from workflow_scripts.core.named import named

    files = {
        key: [Path(path) for path in ([paths] if isinstance(paths, str) else paths)]
        for key, paths in inputs.items()
    }
    named(function)(files, request, {key: Path(path) for key, path in outputs.items()})


if "snakemake" in globals():
    with step(snakemake):
        main(
            snakemake.params.function,
            dict(snakemake.input.items()),
            snakemake.params.request,
            dict(snakemake.output.items()),
        )
