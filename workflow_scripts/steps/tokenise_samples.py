"""Tokenise what a recipe trains on, once for every checkpoint of a model.

In: the model's manifest, for its tokenizer, and the dataset's. Out: the samples and what was noted
of them, bad ones included.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(model: Path, samples: Path, request: dict) -> None:
    from workflow_scripts.training.data import tokenise
    from workflow_scripts.training.requests import SamplesRequest

    summary = tokenise(model, samples.parent, SamplesRequest.of(request))
    print(f"{summary['samples']:,} samples, {summary['tokens']:,} tokens")
    for kind, about in summary["bad"].items():
        print(f"{about['samples']:,} {kind}, for instance {'; '.join(about['first'])}")


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.output.samples),
            snakemake.params.request,
        )
