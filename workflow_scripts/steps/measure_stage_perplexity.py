"""Measure the perplexity of a checkpoint at one stage of its training: of wikitext and of responses.

In: the manifests of the checkpoint and of both datasets. Out: a record and its pieces for each dataset.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, data: Path, wikitext: Path, magpie: Path, settings: dict) -> None:
    from workflow_scripts.evaluation.plans import measure_perplexity
    from workflow_scripts.hub.manifest import hub_of

    measure_perplexity(model, hub_of(data), wikitext, magpie, **settings)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.wikitext),
            Path(snakemake.output.wikitext),
            Path(snakemake.output.magpie),
            snakemake.params.settings,
        )
