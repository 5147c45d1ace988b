"""Train a model of the miniature world, put a trained one into the hub folder, or make the faulty ones.

In: texts and tokenizer, and of an instruct model its base; of a placed model its shipped files; of the
faulty ones the shipped tokenizer. Out: what is shipped of a model; or manifests, each written after its model.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def train(made: Path) -> None:
    from workflow_scripts.miniature.train import train_model

    train_model(made.parents[1], made.parent.name)


def place(manifest: Path) -> None:
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.shipped import place

    place(hub_of(manifest), manifest.parent.name)


def faulty(manifest: Path) -> None:
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.faulty import build_faulty_models

    build_faulty_models(hub_of(manifest))


BY_RULE = {
    "train_miniature_model": train,
    "place_miniature_model": place,
    "build_faulty_models": faulty,
}


def main(rule: str, output: Path) -> None:
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # the log is a file
    BY_RULE[rule](output)


if "snakemake" in globals():
    with step(snakemake):
        main(snakemake.rule, Path(snakemake.output[0]))
