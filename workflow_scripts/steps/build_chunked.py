"""Cut a model of the hub into chunks: its weights linked, the new modules beside them.

In: the manifest of the model. Out: the checkpoint's manifest, written after its files.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def main(model: Path, manifest: Path, request: dict[str, Any]) -> None:
    from workflow_scripts.hub.chunk import build_chunked
    from workflow_scripts.hub.requests import BuildRequest

    build_chunked(model, manifest.parent, BuildRequest.of(request))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.output.manifest),
            snakemake.params.request,
        )
