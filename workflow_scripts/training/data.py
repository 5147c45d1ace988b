"""The samples of a recipe, tokenised once for all models that share a tokenizer's folder."""

from pathlib import Path
from typing import Any

from workflow_scripts.core.files import sha256_json
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import MANIFEST, read_manifest
from workflow_scripts.training.rows import dataset_rows, file_rows
from workflow_scripts.training.samples import SampleWriter
from workflow_scripts.training.tokenise import write_conversations, write_text_blocks


def tokenise(
    model_manifest: Path, hub: Path, folder: Path, *, data: dict[str, Any]
) -> dict[str, Any]:
    """Write the samples that `data`, the recipe's keys about them, describes into `folder`."""
    tokenizer, manifest = load_tokenizer(model_manifest), read_manifest(model_manifest)
    source: dict[str, Any] = {"files": list(data["files"])}
    if data["dataset"]:
        dataset = read_manifest(hub / "datasets" / data["dataset"] / MANIFEST)
        source = {"dataset": dataset.repository, "commit": dataset.commit}
        rows = dataset_rows(hub, data["dataset"], data["subset"], data["split"])
    else:
        rows = file_rows([Path(path) for path in data["files"]])
    writer = SampleWriter(folder)
    common = {"column": data["column"], "length": data["max_length"], "most": data["max_samples"]}
    if data["data"] == "text":
        each = data["document"] == "row"
        write_text_blocks(writer, tokenizer, rows, each_row_ends=each, **common)
    else:
        write_conversations(writer, tokenizer, rows, **common)
    tokenizer_files = {f.path: f.sha256 for f in manifest.files if "token" in f.path}
    return writer.close(
        source=source,
        data={name: value for name, value in data.items() if name != "files"},
        tokenizer={"repository": manifest.repository, "sha256": sha256_json(tokenizer_files)},
        vocabulary=len(tokenizer),
    )
