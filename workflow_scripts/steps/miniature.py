"""Make what the miniature world is of: its datasets, texts and tokenizer, or models of it.

In: of a model, the digests of the texts, and the manifest of its base where it has one. Out: manifests,
each written after what it is of.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def world(hub: Path, request: dict) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.miniature.build import build_world
    from workflow_scripts.settings.miniature import WorldRequest

    disable_progress_bars()  # the log is a file
    build_world(hub, **dict(WorldRequest.of(request)))


def model(hub: Path, request: dict) -> None:
    from transformers.utils.logging import disable_progress_bar

    from workflow_scripts.miniature.train import train_model
    from workflow_scripts.settings.miniature import MiniatureModelRequest

    disable_progress_bar()  # the log is a file
    train_model(hub, **dict(MiniatureModelRequest.of(request)))


def faulty_models(hub: Path, request: dict) -> None:
    from transformers.utils.logging import disable_progress_bar

    from workflow_scripts.miniature.faulty import build_faulty_models
    from workflow_scripts.settings.miniature import FaultyModelsRequest

    disable_progress_bar()  # the log is a file
    build_faulty_models(hub, **dict(FaultyModelsRequest.of(request)))


BY_RULE = {
    "build_world": world,
    "train_miniature_model": model,
    "build_faulty_models": faulty_models,
}


def main(rule: str, manifest: Path, request: dict) -> None:
    from workflow_scripts.hub.manifest import hub_of

    BY_RULE[rule](hub_of(manifest), request)


if "snakemake" in globals():
    with step(snakemake):
        main(snakemake.rule, Path(snakemake.output[0]), snakemake.params.request)
