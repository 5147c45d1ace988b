"""Train one model of the miniature world from nothing, or, to follow a chat, from its base.

In: the corpus, the tokenizer, and the manifest of the base model where there is one.
Out: the model's manifest, written after the model.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(hub: Path, name: str, *, corpus: Path, tokenizer: Path, seed: int, effort: float) -> None:
    from workflow_scripts.miniature.train import train_model

    train_model(hub, name, corpus=corpus, tokenizer=tokenizer, seed=seed, effort=effort)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.params.hub),
            snakemake.wildcards.name,
            corpus=Path(snakemake.input.corpus),
            tokenizer=Path(snakemake.input.tokenizer),
            seed=snakemake.params.seed,
            effort=snakemake.params.effort,
        )
