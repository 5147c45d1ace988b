"""Rows to train on, in a stream: from a dataset of the hub, or from files the config names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import MANIFEST, read_manifest

FoundRow = tuple[str, dict[str, Any] | None]  # where it stands, and its columns; None is no row
_BYTES_OF_TEXT = 1 << 20


def dataset_rows(hub: Path, dataset: str, subset: str | None, split: str) -> Iterator[FoundRow]:
    """One by one from the dataset's files: nothing is copied and little is held in memory."""
    import datasets

    folder = hub / "datasets" / dataset
    read_manifest(folder / MANIFEST)
    try:
        rows = datasets.load_dataset(str(folder), subset, split=split, streaming=True)
    except ValueError as error:  # an unknown subset or split, whose message lists the known ones
        raise UserError(f"The dataset {dataset!r} cannot be read: {error}") from None
    for at, row in enumerate(rows):
        yield f"{dataset}, row {at}", row


def file_rows(paths: list[Path]) -> Iterator[FoundRow]:
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path} is missing; a recipe's `files` names it.")
        read = {".txt": _text, ".jsonl": _json_lines, ".parquet": _parquet}.get(path.suffix)
        if read is None:
            raise UserError(f"{path} ends in {path.suffix!r}; expected .txt, .jsonl or .parquet.")
        yield from read(path)


def _text(path: Path) -> Iterator[FoundRow]:
    """Cut behind line ends into pieces that fit in memory."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            for at, lines in enumerate(iter(lambda: file.readlines(_BYTES_OF_TEXT), [])):
                yield f"{path}, piece {at}", {"text": "".join(lines)}
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not text in UTF-8 ({error}).") from None


def _json_lines(path: Path) -> Iterator[FoundRow]:
    with path.open("rb") as file:
        for at, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
            except ValueError:  # no JSON, or no UTF-8
                row = None
            yield f"{path}, line {at}", row if isinstance(row, dict) else None


def _parquet(path: Path) -> Iterator[FoundRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} is not a Parquet file ({error}).") from None
    rows = (row for batch in file.iter_batches(batch_size=1_000) for row in batch.to_pylist())
    for at, row in enumerate(rows):
        yield f"{path}, row {at}", row
