"""Generate the miniature world: its datasets, the text about it, and a tokenizer for that text.

In: nothing but a seed. Out: the manifests of all datasets, the corpus and the tokenizer.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(first_dataset: Path, *, seed: int, items: int) -> None:
    from datasets import disable_progress_bars

    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.build import build_world

    disable_progress_bars()  # the log is a file

    build_world(hub_of(first_dataset), seed=seed, items=items)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.output.datasets[0]),
            **snakemake.params.settings,
        )
