"""Scores that outlive their job: what a killed evaluation had already computed.

An append-only file, one line an item with a checksum. A line that a killed job left half-written
does not pass and is computed again. The key of an item holds everything that its score depends on,
so a file left by another model, prompt, setting or harness has nothing to offer.
"""

import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from workflow_scripts.core.files import canonical_json
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.hub.load import LoadedModel

_SECONDS_BETWEEN_SYNCS = 5.0  # what a power cut may cost; a killed process loses nothing written


class ScoredItems:
    """Use as a context manager; the file is for the job to remove, when its record is safe."""

    def __init__(self, path: Path, *, weights_sha256: str, harness: str, settings: dict[str, Any]):
        self.path = path
        self.found, self.computed = 0, 0
        self._run = canonical_json(
            {"weights": weights_sha256, "harness": harness, "settings": settings}
        ).encode()
        self._values: dict[str, Any] = {}
        self._file: BinaryIO  # while it is entered
        self._synced = 0.0

    @classmethod
    def beside(
        cls,
        record: Path,
        loaded: LoadedModel,
        *,
        harness: str,
        weights_sha256: str | None = None,
        **settings: Any,
    ) -> "ScoredItems":
        """The items of one measurement, beside its record.

        `weights_sha256` is given where the model's weights are not those of the manifest. Hidden and
        undeclared: Snakemake removes what a failed job declared.
        """
        return cls(
            scored_beside(record),
            weights_sha256=weights_sha256 or loaded.manifest.weights_sha256,
            harness=harness,
            settings={
                # Two plans may have the same weights; the commit is of the configuration too.
                "commit": loaded.manifest.commit,
                "packages": package_versions(),
                "device": loaded.device,
                "dtype": loaded.dtype,
                "attention": loaded.attention,
                "threads": loaded.threads,
                **settings,
            },
        )

    def __enter__(self) -> "ScoredItems":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        self._file.seek(0)
        content = self._file.read()
        for line in content.splitlines():
            if (item := _parsed(line)) is not None:
                self._values[item[0]] = item[1]
        if content and not content.endswith(b"\n"):
            self._file.write(b"\n")  # ends the half line, so that the next item starts a new one
        return self

    def __exit__(self, *_exception) -> None:
        self._sync()
        self._file.close()

    def key(self, kind: str, *token_lists: Iterable[int], **settings: Any) -> str:
        """What an item depends on: the run, its tokens, and the settings of this question."""
        digest = hashlib.sha256(self._run)
        digest.update(canonical_json([kind, settings]).encode())
        for tokens in token_lists:
            text = ",".join(map(str, tokens))
            digest.update(f"|{len(text)}:{text}".encode())
        return digest.hexdigest()

    def get(self, key: str) -> Any:
        """The stored value, or None; values are never None."""
        value = self._values.get(key)
        self.found += value is not None
        return value

    def add(self, key: str, value: Any) -> None:
        self.computed += 1
        self._values[key] = value
        body = json.dumps([key, value])
        self._file.write(f"{zlib.crc32(body.encode()):08x} {body}\n".encode())
        self._file.flush()
        if time.monotonic() - self._synced > _SECONDS_BETWEEN_SYNCS:
            self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


def scored_beside(record: Path) -> Path:
    return record.with_name(f".{record.stem}.scored")


class Answers:
    """Those of one list of questions: what an earlier job left, and where to store the rest."""

    def __init__(
        self, items: ScoredItems | None, questions: list[tuple[str, tuple, dict[str, Any]]]
    ):
        """A question is its kind, its token lists and its settings."""
        self._items = items
        self.known: dict[int, Any] = {}
        if items is None:
            return
        self._keys = [items.key(kind, *tokens, **rest) for kind, tokens, rest in questions]
        found = ((at, items.get(key)) for at, key in enumerate(self._keys))
        self.known = {at: value for at, value in found if value is not None}

    def store(self, at: int, value: Any) -> None:
        """What is known stays as it is, also where it had to be computed again for the sake of something else."""
        if self._items is not None and at not in self.known:
            self._items.add(self._keys[at], value)


def _parsed(line: bytes) -> tuple[str, Any] | None:
    checksum, _, body = line.partition(b" ")
    if checksum != f"{zlib.crc32(body):08x}".encode():
        return None
    key, value = json.loads(body)
    return key, value
