"""Tokenised samples on the disk: three flat arrays, written in a stream and read by mapping.

    tokens.bin   int32   the tokens of all samples, one after another
    counted.bin  bool    for each token, whether predicting it counts in the loss
    ends.bin     int64   where each sample ends
    samples.json         what they were made of, and which samples were bad; written last

However many samples there are, writing them holds a few thousand in memory and reading them none.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import is_altered, sha256_file, write_json

SUMMARY = "samples.json"
_TOKENS, _COUNTED, _ENDS = "tokens.bin", "counted.bin", "ends.bin"
BLANK = -1  # the number of a sample of which nothing counts, to fill up with
_NAMED = 5  # of the bad samples of a kind, so many are named


@dataclass(frozen=True)
class Sample:
    tokens: np.ndarray  # int32
    counted: np.ndarray  # bool; the first token is never predicted

    def __post_init__(self):
        if len(self.tokens) != len(self.counted):
            raise ValueError(f"{len(self.tokens)} tokens and {len(self.counted)} marks")

    def cut(self, length: int) -> "Sample":
        return Sample(self.tokens[:length], self.counted[:length])


class BadSamples:
    """What could not be used as it was: how many of each kind, and where the first ones stand."""

    def __init__(self):
        self._kinds: dict[str, dict[str, Any]] = {}

    def add(self, kind: str, where: str) -> None:
        found = self._kinds.setdefault(kind, {"samples": 0, "first": []})
        found["samples"] += 1
        if len(found["first"]) < _NAMED:
            found["first"].append(where)

    def as_json(self) -> dict[str, Any]:
        return dict(sorted(self._kinds.items()))


class Samples:
    """A sequence of samples, in memory or mapped from the disk."""

    def __init__(self, tokens: np.ndarray, counted: np.ndarray, ends: np.ndarray):
        self._tokens, self._counted, self._ends = tokens, counted, ends

    @classmethod
    def of(cls, samples: list[Sample]) -> "Samples":
        empty = Sample(np.empty(0, np.int32), np.empty(0, bool))
        return cls(
            np.concatenate([s.tokens for s in (empty, *samples)]),
            np.concatenate([s.counted for s in (empty, *samples)]),
            np.cumsum([len(s.tokens) for s in samples], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, at: int) -> Sample:
        if at == BLANK:
            return Sample(np.zeros(2, np.int32), np.zeros(2, bool))
        if not 0 <= at < len(self):
            raise IndexError(at)
        start = self._ends[at - 1] if at else 0
        piece = slice(int(start), int(self._ends[at]))
        return Sample(np.asarray(self._tokens[piece]), np.asarray(self._counted[piece]))

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self._ends, prepend=0)

    def split(self, share: float, rng: np.random.Generator) -> tuple["Samples", "Samples"]:
        """All but a drawn share of them, and that share; each in the old order."""
        drawn = np.zeros(len(self), bool)
        drawn[rng.permutation(len(self))[: round(share * len(self))]] = True
        return _Some(self, np.flatnonzero(~drawn)), _Some(self, np.flatnonzero(drawn))


class _Some(Samples):
    """Some of the samples of another sequence, copied only when read."""

    def __init__(self, all_samples: Samples, numbers: np.ndarray):
        self._all, self._numbers = all_samples, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: int) -> Sample:
        return self._all[at if at == BLANK else int(self._numbers[at])]

    @property
    def lengths(self) -> np.ndarray:
        return self._all.lengths[self._numbers]


class SampleList:
    """Takes samples as SampleWriter does, and keeps them in memory: for the few of one task."""

    def __init__(self):
        self._kept: list[Sample] = []
        self.bad = BadSamples()

    @property
    def samples(self) -> int:
        return len(self._kept)

    def add(self, sample: Sample) -> None:
        self._kept.append(sample)

    def all(self) -> Samples:
        return Samples.of(self._kept)


class SampleWriter:
    """Writes samples into a folder as they come."""

    def __init__(self, folder: Path):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files = {name: (folder / name).open("wb") for name in (_TOKENS, _COUNTED, _ENDS)}
        self.samples = self.tokens = self.counted_tokens = 0
        self.bad = BadSamples()

    def add(self, sample: Sample) -> None:
        self.samples += 1
        self.tokens += len(sample.tokens)
        self.counted_tokens += int(sample.counted.sum())
        self._files[_TOKENS].write(sample.tokens.astype("<i4").tobytes())
        self._files[_COUNTED].write(sample.counted.astype("?").tobytes())
        self._files[_ENDS].write(np.array([self.tokens], "<i8").tobytes())

    def close(self, **about: Any) -> dict[str, Any]:
        for file in self._files.values():
            file.close()
        summary = {
            **about,
            "samples": self.samples,
            "tokens": self.tokens,
            "counted_tokens": self.counted_tokens,
            "bad": self.bad.as_json(),
            "sha256": {name: sha256_file(self._folder / name) for name in self._files},
        }
        write_json(self._folder / SUMMARY, summary)
        return summary


SampleSink = SampleList | SampleWriter  # what takes samples as they come


def read_samples(summary_path: Path) -> tuple[Samples, dict[str, Any]]:
    """The samples of a folder by mapping its files, and what was noted of them."""
    folder = summary_path.parent
    try:
        summary = json.loads(summary_path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{summary_path} cannot be read ({error}); delete it to have it made again."
        ) from None
    wanted = {
        _TOKENS: 4 * summary["tokens"],
        _COUNTED: summary["tokens"],
        _ENDS: 8 * summary["samples"],
    }
    for name, size in wanted.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            raise UserError(
                f"{path} {'is missing' if found is None else f'has {found} bytes'}; expected {size}."
                f" Delete {summary_path} to have it made again."
            )
        if problem := is_altered(path, summary["sha256"][name]):
            raise UserError(f"{problem} Delete {summary_path} to have it made again.")
    return Samples(
        _mapped(folder / _TOKENS, "<i4"),
        _mapped(folder / _COUNTED, "?"),
        _mapped(folder / _ENDS, "<i8"),
    ), summary


def _mapped(path: Path, kind: str) -> np.ndarray:
    if path.stat().st_size == 0:  # which cannot be mapped
        return np.empty(0, kind)
    return np.memmap(path, dtype=kind, mode="r")
