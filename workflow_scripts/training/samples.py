"""Tokenised samples: in memory, or in a folder of three flat arrays that are written in a stream and mapped.

tokens.bin   int32   the tokens of all samples, one after another
counted.bin  bool    for each token, whether predicting it counts in the loss
ends.bin     int64   where each sample ends
samples.json         what they were made of, and which samples were bad; written last
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import is_altered, sha256_file, write_json

SUMMARY = "samples.json"
_TOKENS, _COUNTED, _ENDS = "tokens.bin", "counted.bin", "ends.bin"
BLANK = -1  # the number of a sample of which nothing counts, to fill up with
_MAX_NAMED = 5  # bad samples of a kind


@dataclass(frozen=True)
class Sample:
    tokens: np.ndarray  # int32
    counted: np.ndarray  # bool; the first token is never predicted


class BadSamples:
    """What could not be used as it was: how many of each kind, and where the first ones stand."""

    def __init__(self):
        self._kinds: dict[str, dict[str, Any]] = {}

    def add(self, kind: str, where: str) -> None:
        count = self._kinds.setdefault(kind, {"samples": 0, "first": []})
        count["samples"] += 1
        if len(count["first"]) < _MAX_NAMED:
            count["first"].append(where)

    def as_json(self) -> dict[str, Any]:
        return dict(sorted(self._kinds.items()))


class Samples:
    """A sequence of samples: stretches of flat arrays."""

    def __init__(
        self, tokens: np.ndarray, counted: np.ndarray, starts: np.ndarray, ends: np.ndarray
    ):
        self._tokens, self._counted = tokens, counted
        self._starts, self._ends = starts, ends

    @classmethod
    def from_list(cls, samples: Iterable[Sample]) -> "Samples":
        samples = [Sample(np.empty(0, np.int32), np.empty(0, bool)), *samples]
        ends = np.cumsum([len(sample.tokens) for sample in samples])
        return cls(
            np.concatenate([sample.tokens for sample in samples]),
            np.concatenate([sample.counted for sample in samples]),
            ends[:-1],
            ends[1:],
        )

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> Sample:
        if number == BLANK:
            return Sample(np.zeros(2, np.int32), np.zeros(2, bool))
        stretch = slice(self._starts[number], self._ends[number])
        return Sample(np.asarray(self._tokens[stretch]), np.asarray(self._counted[stretch]))

    @property
    def lengths(self) -> np.ndarray:
        return self._ends - self._starts

    def split(self, share: float, rng: np.random.Generator) -> tuple["Samples", "Samples"]:
        """Return all but a drawn share of them, and that share; each in the old order."""
        drawn = np.zeros(len(self), bool)
        drawn[rng.permutation(len(self))[: round(share * len(self))]] = True
        return self._select(~drawn), self._select(drawn)

    def _select(self, chosen: np.ndarray) -> "Samples":
        return Samples(self._tokens, self._counted, self._starts[chosen], self._ends[chosen])


def write_samples(
    folder: Path, samples: Iterable[Sample], bad: BadSamples, **about: Any
) -> dict[str, Any]:
    """Write samples into a folder as they come, and return their summary."""
    folder.mkdir(parents=True, exist_ok=True)
    count = tokens = counted = 0
    with (
        (folder / _TOKENS).open("wb") as tokens_file,
        (folder / _COUNTED).open("wb") as counted_file,
        (folder / _ENDS).open("wb") as ends_file,
    ):
        for sample in samples:
            count += 1
            tokens += len(sample.tokens)
            counted += int(sample.counted.sum())
            tokens_file.write(sample.tokens.astype("<i4").tobytes())
            counted_file.write(sample.counted.astype("?").tobytes())
            ends_file.write(np.array([tokens], "<i8").tobytes())
    summary = {
        **about,
        "samples": count,
        "tokens": tokens,
        "counted_tokens": counted,
        "bad": bad.as_json(),
        "sha256": {name: sha256_file(folder / name) for name in (_TOKENS, _COUNTED, _ENDS)},
    }
    write_json(folder / SUMMARY, summary)
    return summary


def read_samples(summary_path: Path) -> tuple[Samples, dict[str, Any]]:
    """Map the samples of a folder, and read their summary."""
    folder = summary_path.parent
    try:
        summary = json.loads(summary_path.read_text(encoding="utf-8"))
        for name, sha256 in summary["sha256"].items():
            if problem := is_altered(folder / name, sha256):
                raise ValueError(problem)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{summary_path} cannot be read: {error} Delete it to have it made again."
        ) from None
    if not summary["samples"]:  # an empty file cannot be mapped
        return Samples.from_list([]), summary
    ends = np.fromfile(folder / _ENDS, "<i8")
    return Samples(
        np.memmap(folder / _TOKENS, "<i4", mode="r"),
        np.memmap(folder / _COUNTED, "?", mode="r"),
        np.concatenate([[0], ends[:-1]]),
        ends,
    ), summary
