"""The samples of a recipe, tokenised once for all models that share a tokenizer's folder."""

from pathlib import Path
from typing import Any

from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import MANIFEST, read_manifest
from workflow_scripts.training.requests import SamplesRequest
from workflow_scripts.training.rows import dataset_rows, file_rows
from workflow_scripts.training.samples import SampleWriter
from workflow_scripts.training.tokenise import write_conversations, write_text_blocks


def tokenise_samples(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the samples that the request describes, and what was noted of them, bad ones included."""
    (model,), asked = inputs["model"], SamplesRequest.of(request)
    tokenizer, manifest = load_tokenizer(model), read_manifest(model)
    keys, hub = asked.keys, Path(asked.hub)
    source: dict[str, Any] = {"files": list(keys.files)}
    if keys.dataset:
        dataset = read_manifest(hub / "datasets" / keys.dataset / MANIFEST)
        source = {"dataset": dataset.repository, "commit": dataset.commit}
        rows = dataset_rows(hub, keys.dataset, keys.subset, keys.split)
    else:
        rows = file_rows([Path(path) for path in keys.files])
    writer = SampleWriter(outputs["samples"].parent)
    common: dict[str, Any] = {
        "column": keys.column,
        "length": asked.max_length,
        "most": keys.max_samples,
    }
    if keys.data == "text":
        each = keys.document == "row"
        write_text_blocks(writer, tokenizer, rows, each_row_ends=each, **common)
    else:
        write_conversations(writer, tokenizer, rows, system=keys.system, **common)
    tokenizer_files = {f.path: f.sha256 for f in manifest.files if "token" in f.path}
    summary = writer.close(
        source=source,
        data={"max_length": asked.max_length, **keys.model_dump(mode="json", exclude={"files"})},
        tokenizer={"repository": manifest.repository, "sha256": sha256_json(tokenizer_files)},
        vocabulary=len(tokenizer),
    )
    print(f"{summary['samples']:,} samples, {summary['tokens']:,} tokens")
    for kind, about in summary["bad"].items():
        print(f"{about['samples']:,} {kind}, for instance {'; '.join(about['first'])}")
