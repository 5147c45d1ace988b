"""The samples of a recipe, tokenised once for all models that share a tokenizer's folder."""

from itertools import islice
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import MANIFEST, read_manifest
from workflow_scripts.training.requests import SamplesRequest
from workflow_scripts.training.rows import dataset_rows, file_rows
from workflow_scripts.training.samples import BadSamples, write_samples
from workflow_scripts.training.tokenization import tokenise_conversations, tokenise_text


def tokenise_samples(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the samples of a recipe, and what they were made of, bad ones included."""
    params = SamplesRequest.of(request)
    keys, hub = params.keys, Path(params.hub)
    (model,) = inputs["model"]
    tokenizer = load_tokenizer(model)
    source: dict[str, Any] = {"files": list(keys.files)}
    rows = file_rows([Path(path) for path in keys.files])
    if keys.dataset:
        dataset = read_manifest(hub / "datasets" / keys.dataset / MANIFEST)
        source = {"dataset": dataset.repository, "commit": dataset.commit}
        rows = dataset_rows(hub, keys.dataset, keys.subset, keys.split)
    bad = BadSamples()
    shape: dict[str, Any] = {"column": keys.column, "length": params.max_length}
    if keys.data == "text":
        each = keys.document == "row"
        samples = tokenise_text(tokenizer, rows, bad, each_row_ends=each, **shape)
    else:
        samples = tokenise_conversations(tokenizer, rows, bad, system=keys.system, **shape)
    summary = write_samples(
        outputs["samples"],
        islice(samples, keys.max_samples),
        bad,
        source=source,
        data={"max_length": params.max_length, **keys.model_dump(mode="json", exclude={"files"})},
    )
    print(summary)


if "snakemake" in globals():
    run_job(tokenise_samples, snakemake)
