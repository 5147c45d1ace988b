"""Cut models of the hub into chunks: their weights linked, the new modules beside them.

In: the manifests of the models. Out: each checkpoint's manifest, written after its files.
"""

from functools import partial
from pathlib import Path

from workflow_scripts.bridge.step import step


def main(checkpoints: list[dict], manifests: list[Path]) -> None:
    from workflow_scripts.core.in_turn import in_turn
    from workflow_scripts.hub.chunk import build_chunked
    from workflow_scripts.settings.measures import BuildRequest

    works = []
    for checkpoint, manifest in zip(checkpoints, manifests, strict=True):
        asked = BuildRequest.of(checkpoint["request"])
        folder = manifest.parent
        works.append((folder, partial(build_chunked, Path(checkpoint["model"]), folder, asked)))
    in_turn(works)


if "snakemake" in globals():
    with step(snakemake):
        main(snakemake.params.checkpoints, [Path(path) for path in snakemake.output])
