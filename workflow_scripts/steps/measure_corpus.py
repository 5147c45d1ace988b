"""Measure the perplexity of a text before and after training on its beginning.

In: the model's manifest and the text. Out: a record and its windows for either.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(model: Path, text: Path, before: Path, after: Path, settings: dict) -> None:
    from workflow_scripts.grid.corpora import measure_corpus

    measure_corpus(model, text, before, after, **settings)


if "snakemake" in globals():
    with step(snakemake):
        main(
            Path(snakemake.input.model),
            Path(snakemake.input.text),
            Path(snakemake.output.before),
            Path(snakemake.output.after),
            snakemake.params.settings,
        )
