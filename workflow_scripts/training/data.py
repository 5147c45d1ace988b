"""The samples of a recipe, tokenised once for all models that share a tokenizer's folder."""

from itertools import islice
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import MANIFEST, read_manifest
from workflow_scripts.training.requests import SamplesRequest
from workflow_scripts.training.rows import dataset_rows, file_rows
from workflow_scripts.training.samples import BadSamples, write_samples
from workflow_scripts.training.tokenise import tokenise_conversations, tokenise_text


def tokenise_samples(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the samples of a recipe, and what they were made of, bad ones included."""
    (model,), asked = inputs["model"], SamplesRequest.of(request)
    tokenizer, manifest = load_tokenizer(model), read_manifest(model)
    keys, hub = asked.keys, Path(asked.hub)
    source: dict[str, Any] = {"files": list(keys.files)}
    rows = file_rows([Path(path) for path in keys.files])
    if keys.dataset:
        dataset = read_manifest(hub / "datasets" / keys.dataset / MANIFEST)
        source = {"dataset": dataset.repository, "commit": dataset.commit}
        rows = dataset_rows(hub, keys.dataset, keys.subset, keys.split)
    bad = BadSamples()
    common: dict[str, Any] = {"column": keys.column, "length": asked.max_length}
    if keys.data == "text":
        each = keys.document == "row"
        samples = tokenise_text(tokenizer, rows, bad, each_row_ends=each, **common)
    else:
        samples = tokenise_conversations(tokenizer, rows, bad, system=keys.system, **common)
    tokenizer_files = {f.path: f.sha256 for f in manifest.files if "token" in f.path}
    summary = write_samples(
        outputs["samples"].parent,
        islice(samples, keys.max_samples),
        bad,
        source=source,
        data={"max_length": asked.max_length, **keys.model_dump(mode="json", exclude={"files"})},
        tokenizer={"repository": manifest.repository, "sha256": sha256_json(tokenizer_files)},
        vocabulary=len(tokenizer),
    )
    print(f"{summary['samples']:,} samples, {summary['tokens']:,} tokens")
    for kind, about in summary["bad"].items():
        print(f"{about['samples']:,} {kind}, for instance {'; '.join(about['first'])}")
