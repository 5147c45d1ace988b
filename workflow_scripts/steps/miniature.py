"""Make the datasets of the miniature world, or of them what its models are trained on.

In: of the texts, the manifests of the datasets. Out: these manifests, each written after its dataset;
or the texts, which are the corpus and conversations, and the tokenizer.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def world(manifest: Path, request: dict) -> None:
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.build import build_world
    from workflow_scripts.settings.miniature import WorldRequest

    build_world(hub_of(manifest), **dict(WorldRequest.of(request)))


def texts(manifest: Path, folder: Path) -> None:
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.build import build_texts

    build_texts(hub_of(manifest), folder)


if "snakemake" in globals():
    with step(snakemake):
        from datasets import disable_progress_bars

        disable_progress_bars()  # the log is a file
        if snakemake.rule == "build_world":
            world(Path(snakemake.output.datasets[0]), snakemake.params.request)
        else:
            texts(Path(snakemake.input.datasets[0]), Path(snakemake.output.corpus).parent)
