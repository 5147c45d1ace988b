"""Make the miniature models that the leaderboard refuses, one for each reason.

In: the digests of the corpus and the tokenizer. Out: their manifests.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(first: Path, *, seed: int) -> None:
    from transformers.utils.logging import disable_progress_bar

    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.miniature.faulty import build_faulty_models

    disable_progress_bar()  # the log is a file
    build_faulty_models(hub_of(first), seed=seed)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.output.manifests[0]), **snakemake.params.settings)
