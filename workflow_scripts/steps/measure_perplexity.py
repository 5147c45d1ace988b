"""Measure the perplexity of a model in many chunk plans, or of a checkpoint: of wikitext and of responses.

In: the manifests of the model and of both datasets. Out: a record and its pieces for each dataset.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, data: Path, wikitext: Path, magpie: Path, request: dict) -> None:
    from workflow_scripts.evaluation.plans import measure_perplexity
    from workflow_scripts.hub.manifest import hub_of
    from workflow_scripts.settings.measures import PerplexityRequest

    measure_perplexity(model, hub_of(data), wikitext, magpie, PerplexityRequest.of(request))


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.wikitext),
            Path(snakemake.output.wikitext),
            Path(snakemake.output.magpie),
            snakemake.params.request,
        )
