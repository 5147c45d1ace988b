"""Tokenise a recipe's data, once for all models that share a tokenizer folder."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import MANIFEST, read_manifest
from workflow_scripts.training.requests import SamplesRequest
from workflow_scripts.training.samples import BadSamples, write_samples
from workflow_scripts.training.tokenization import Row, tokenise_conversations, tokenise_text

# Builder and options of `datasets`, by file suffix.
_BUILDERS: dict[str, tuple[str, dict[str, Any]]] = {
    ".txt": ("text", {"keep_linebreaks": True}),
    ".jsonl": ("json", {}),
    ".parquet": ("parquet", {}),
}


def tokenise_samples(model: Path, request: dict[str, Any], samples: Path) -> None:
    """Write the samples of a recipe, and a summary with their source and the counts of bad rows."""
    params = SamplesRequest.model_validate(request)
    keys, hub = params.keys, Path(params.hub)
    tokenizer = load_tokenizer(model)
    if keys.dataset:
        dataset = read_manifest(hub / "datasets" / keys.dataset / MANIFEST)
        source: dict[str, Any] = {"dataset": dataset.repository, "commit": dataset.commit}
        rows = read_dataset_rows(hub, keys.dataset, keys.subset, keys.split)
    else:
        source = {"files": list(keys.files)}
        rows = read_file_rows([Path(path) for path in keys.files])
    bad = BadSamples()
    options: dict[str, Any] = {"column": keys.column, "length": params.max_length}
    if keys.data == "text":
        tokenised = tokenise_text(
            tokenizer, rows, bad, document_per_row=keys.document == "row", **options
        )
    else:
        tokenised = tokenise_conversations(tokenizer, rows, bad, system=keys.system, **options)
    summary = write_samples(
        samples,
        islice(tokenised, keys.max_samples),
        bad,
        source=source,
        data={"max_length": params.max_length, **keys.model_dump(mode="json", exclude={"files"})},
    )
    print(summary)


def read_dataset_rows(hub: Path, dataset: str, subset: str | None, split: str) -> Iterator[Row]:
    """Yield the rows of a dataset in the hub folder, by streaming: no copy and little memory."""
    import datasets

    yield from datasets.load_dataset(
        str(hub / "datasets" / dataset), subset, split=split, streaming=True
    )


def read_file_rows(paths: list[Path]) -> Iterator[Row]:
    """Yield the lines of .txt files, and the rows of .jsonl and .parquet files."""
    import datasets

    for path in paths:
        builder, options = _BUILDERS[path.suffix]
        yield from datasets.load_dataset(
            builder, data_files=str(path), split="train", streaming=True, **options
        )


if "snakemake" in globals():
    run_job(tokenise_samples, snakemake)
