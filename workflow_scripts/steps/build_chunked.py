"""Cut a model of the hub into chunks: its weights linked, the new modules beside them.

In: the model's manifest. Out: the checkpoint's manifest, written after its files.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, manifest: Path, *, id: str, keys: dict, seed: int) -> None:
    from workflow_scripts.hub.chunk import build_chunked

    build_chunked(model, manifest.parent, id=id, keys=keys, seed=seed)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.output.manifest),
            **snakemake.params.settings,
        )
