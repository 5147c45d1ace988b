"""Freeze the commit of every fetched model and dataset, so that later runs use the same ones.

In: the manifests of this run. Out: the lock file; rows of other repositories stay as they are.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step
from workflow_scripts.core.errors import UserError


def main(manifests: list[Path], lock: Path) -> None:
    from workflow_scripts.hub.lock import write_lock
    from workflow_scripts.hub.manifest import read_manifest

    if not manifests:
        raise UserError(
            "There is nothing to lock: this config fetches nothing from the hub. Name the one that does,"
            " for instance `snakemake lock_hub --configfile config/paper.yaml`."
        )
    write_lock(lock, [read_manifest(path) for path in manifests])


if "snakemake" in globals():
    with step(snakemake):
        main([Path(path) for path in snakemake.input], Path(snakemake.params.lock))
