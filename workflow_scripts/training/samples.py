"""Store tokenised samples in an Arrow table of tokens with a loss mask.

The file is written as a stream and memory-mapped when read; a summary of its source is stored next to it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import describe_alteration, hash_file, write_json

T = TypeVar("T")
_ARROW_FILE = "samples.arrow"
_BATCH_SIZE = 256
# The columns of the file are the fields of a sample; `counted` is the loss mask.
_SCHEMA = pa.schema([("tokens", pa.list_(pa.int32())), ("counted", pa.list_(pa.bool_()))])


@dataclass(frozen=True)
class Sample:
    tokens: np.ndarray  # int32
    loss_mask: np.ndarray  # whether a token is in the loss; never the first, which none predicts


BadSamples = Counter[str]  # number of dropped or cut samples, by reason


class Samples:
    """A sequence of samples: selected rows of a table."""

    def __init__(self, table: pa.Table, rows: np.ndarray | None = None):
        self._table = table
        self._rows = np.arange(len(table)) if rows is None else rows

    @classmethod
    def from_list(cls, samples: Iterable[Sample]) -> "Samples":
        return cls(
            pa.Table.from_batches(map(_make_record_batch, iterate_batches(samples)), _SCHEMA)
        )

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Sample]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> Sample:
        row = int(self._rows[index])
        lists = [self._table[name][row].values for name in _SCHEMA.names]
        return Sample(*(values.to_numpy(zero_copy_only=False) for values in lists))

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each sample."""
        return pc.list_value_length(self._table["tokens"]).to_numpy()[self._rows].astype(np.int64)

    def split(self, fraction: float, rng: np.random.Generator) -> tuple["Samples", "Samples"]:
        """Split off a random fraction; return the rest and the fraction, both in the original order."""
        held_out = np.sort(rng.permutation(len(self))[: round(fraction * len(self))])
        rest = np.delete(self._rows, held_out)
        return Samples(self._table, rest), Samples(self._table, self._rows[held_out])


def iterate_batches(rows: Iterable[T], size: int = _BATCH_SIZE) -> Iterator[list[T]]:
    """Yield the rows in lists of `size`; the last list may be shorter."""
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def _make_record_batch(samples: list[Sample]) -> pa.RecordBatch:
    tokens = [sample.tokens for sample in samples]
    masks = [sample.loss_mask for sample in samples]
    return pa.record_batch([tokens, masks], schema=_SCHEMA)


def write_samples(
    summary_path: Path, samples: Iterable[Sample], bad: BadSamples, **metadata: Any
) -> dict[str, Any]:
    """Write samples as a stream, and then their summary next to the file; return the summary."""
    counts: Counter[str] = Counter(samples=0, tokens=0, counted_tokens=0)
    data = summary_path.with_name(_ARROW_FILE)
    with pa.ipc.new_file(data, _SCHEMA) as file:
        for batch in iterate_batches(samples):
            file.write(_make_record_batch(batch))
            counts.update(
                samples=len(batch),
                tokens=sum(len(sample.tokens) for sample in batch),
                counted_tokens=sum(int(sample.loss_mask.sum()) for sample in batch),
            )
    sha256 = {_ARROW_FILE: hash_file(data)}
    summary = {**metadata, **counts, "bad": dict(sorted((+bad).items())), "sha256": sha256}
    write_json(summary_path, summary)
    return summary


def read_samples(summary_path: Path) -> tuple[Samples, dict[str, Any]]:
    """Memory-map the samples and read their summary."""
    data = summary_path.with_name(_ARROW_FILE)
    summary = json.loads(summary_path.read_text(encoding="utf-8"))
    if problem := describe_alteration(data, summary["sha256"][_ARROW_FILE]):
        raise UserError(f"{problem} Delete {summary_path} to have it made again.")
    return Samples(pa.ipc.open_file(pa.memory_map(str(data))).read_all()), summary
