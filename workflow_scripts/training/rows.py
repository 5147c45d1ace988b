"""Rows to train on, in a stream: from a dataset of the hub, or from files the config names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import MANIFEST, read_manifest

Row = dict[str, Any]
# What `datasets` reads a file as, and how.
_LOADERS: dict[str, tuple[str, dict[str, Any]]] = {
    ".txt": ("text", {"keep_linebreaks": True}),
    ".jsonl": ("json", {}),
    ".parquet": ("parquet", {}),
}


def dataset_rows(hub: Path, dataset: str, subset: str | None, split: str) -> Iterator[Row]:
    """Yield the rows of a dataset of the hub one by one: nothing is copied and little is held in memory."""
    folder = hub / "datasets" / dataset
    read_manifest(folder / MANIFEST)
    return _stream(dataset, str(folder), subset, split=split)


def file_rows(paths: list[Path]) -> Iterator[Row]:
    """Yield the rows of files: the lines of .txt, and of .jsonl and .parquet the rows."""
    for path in paths:
        if path.suffix not in _LOADERS:
            raise UserError(f"{path} ends in {path.suffix!r}; expected .txt, .jsonl or .parquet.")
        loader, options = _LOADERS[path.suffix]
        yield from _stream(str(path), loader, data_files=str(path), split="train", **options)


def _stream(name: str, *arguments: Any, **options: Any) -> Iterator[Row]:
    import datasets

    try:
        yield from datasets.load_dataset(*arguments, **options, streaming=True)
    except (OSError, ValueError, datasets.exceptions.DatasetGenerationError) as error:
        raise UserError(f"{name} cannot be read: {error}") from None
