"""Generate the miniature world: its datasets, the text about it, and a tokenizer for that text.

In: nothing but a seed. Out: the manifests of all datasets, the corpus and the tokenizer.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(hub: Path, *, seed: int, items: int) -> None:
    from workflow_scripts.miniature.build import build_world

    build_world(hub, seed=seed, items=items)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.params.hub),
            seed=snakemake.params.seed,
            items=snakemake.params.items_per_task,
        )
