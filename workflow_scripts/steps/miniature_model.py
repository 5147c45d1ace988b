"""Put the models that come with the repository into the hub folder, or train one of them again.

In: what is shipped of all models; or corpus and tokenizer, and of an instruct model its base. Out:
manifests, each written after its model; or what is shipped of the one that was trained.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def train(made: Path) -> None:
    from workflow_scripts.miniature.train import train_model

    train_model(made.parents[1], made.parent.name)


def place(manifests: list[Path]) -> None:
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature import catalogue, shipped
    from workflow_scripts.miniature.faulty import build_faulty_models

    hub = hub_of(manifests[0])
    for name in catalogue.MODELS:
        shipped.place(hub, name)
    build_faulty_models(hub)


if "snakemake" in globals():
    with step(snakemake):
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # the log is a file
        if snakemake.rule == "train_miniature_model":
            train(Path(snakemake.output.made))
        else:
            place([Path(manifest) for manifest in snakemake.output.manifests])
