"""Make a part of the miniature world, by the function that its rule names.

In: what the rule names. Out: what is to be found in the folders that the function is given, beside its
request; of the hub folder each manifest is written after its dataset or model.
"""

from importlib import import_module
from pathlib import Path

from workflow_scripts.bridge.job import run_job


def main(function: str, folders: list[str], request: dict) -> None:
    module, _, name = function.rpartition(".")
    getattr(import_module(f"workflow_scripts.{module}"), name)(*map(Path, folders), **request)


if "snakemake" in globals():
    run_job(main, snakemake)
