"""Train one model of the miniature world from nothing, or, to follow a chat, from its base.

In: the digests of the corpus and the tokenizer, and the manifest of the base model where there is
one.
Out: the model's manifest, written after the model.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(manifest: Path, name: str, *, seed: int, effort: float) -> None:
    from transformers.utils.logging import disable_progress_bar

    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.train import train_model

    disable_progress_bar()  # the log is a file
    train_model(hub_of(manifest), name, seed=seed, effort=effort)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.output.manifest),
            snakemake.wildcards.name,
            **snakemake.params.settings,
        )
