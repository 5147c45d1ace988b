"""Measure the perplexity of a text before and after training on its beginning.

In: the model's manifest and the text. Out: a record with its windows for before and for after.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job


def main(
    model: Path, text: Path, before: Path, after: Path, version: str, request: dict[str, Any]
) -> None:
    from workflow_scripts.core.files import hash_file
    from workflow_scripts.core.output_cache import OutputCache
    from workflow_scripts.core.records import read_complete_record
    from workflow_scripts.grid.cells import get_training_state
    from workflow_scripts.grid.corpora import measure_corpus
    from workflow_scripts.grid.requests import CorpusRequest

    records = [before, after]
    cache = OutputCache(
        outputs=[*(record.with_suffix(".parquet") for record in records), *records],
        key=[hash_file(model), hash_file(text), request],
        validate=lambda: [read_complete_record(record) for record in records],
        states=[get_training_state(after)],
        version=version,
    )
    cache.run(
        lambda: measure_corpus(model, text, before, after, CorpusRequest.model_validate(request))
    )


if "snakemake" in globals():
    run_job(main, snakemake)
