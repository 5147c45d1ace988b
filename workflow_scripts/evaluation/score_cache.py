"""Keep scores that outlive their job: what a killed evaluation had already computed.

An append-only file of JSON lines; a line that a killed job left half-written is computed again. The key of
an item holds everything that its score depends on, so a file left by another model, prompt, setting or
harness has nothing to offer.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from workflow_scripts.core.files import canonical_json
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.hub.load import LoadedModel


class ScoreCache:
    """Use as a context manager; the file is for the job to remove, when its record is safe."""

    def __init__(self, path: Path, *, weights_sha256: str, harness: str, settings: dict[str, Any]):
        self.path = path
        self._run = canonical_json(
            {"weights": weights_sha256, "harness": harness, "settings": settings}
        ).encode()
        self._values: dict[str, Any] = {}
        self._file: BinaryIO  # while it is entered

    @classmethod
    def beside(
        cls,
        record: Path,
        loaded: LoadedModel,
        *,
        harness: str,
        weights_sha256: str | None = None,
        **settings: Any,
    ) -> "ScoreCache":
        """Open the items of one measurement, beside its record.

        `weights_sha256` is given where the model's weights are not those of the manifest. Hidden and
        undeclared: Snakemake removes what a failed job declared.
        """
        return cls(
            score_cache_path(record),
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

    def __enter__(self) -> "ScoreCache":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        self._file.seek(0)
        content = self._file.read()
        for line in content.splitlines():
            with suppress(ValueError):
                key, value = json.loads(line)
                self._values[key] = value
        if content and not content.endswith(b"\n"):
            self._file.write(b"\n")  # ends the half line, so that the next item starts a new one
        return self

    def __exit__(self, *_exception) -> None:
        self._file.close()

    def key(self, kind: str, *token_lists: Iterable[int], **settings: Any) -> str:
        """Hash what an item depends on: the run, its tokens, and the settings of this question."""
        digest = hashlib.sha256(self._run)
        digest.update(canonical_json([kind, settings]).encode())
        for tokens in token_lists:
            text = ",".join(map(str, tokens))
            digest.update(f"|{len(text)}:{text}".encode())
        return digest.hexdigest()

    def get(self, key: str) -> Any:
        """Return the stored value, or None; values are never None."""
        return self._values.get(key)

    def add(self, key: str, value: Any) -> None:
        self._values[key] = value
        self._file.write(f"{json.dumps([key, value])}\n".encode())
        self._file.flush()


def score_cache_path(record: Path) -> Path:
    return record.with_name(f".{record.stem}.scored")


class Answers:
    """The answers to one list of questions: what an earlier job left, and where to store the rest."""

    def __init__(
        self, items: ScoreCache | None, questions: list[tuple[str, tuple, dict[str, Any]]]
    ):
        """Look up the questions, each its kind, its token lists and its settings."""
        self._items = items
        self.known: dict[int, Any] = {}
        if items is None:
            return
        self._keys = [items.key(kind, *tokens, **rest) for kind, tokens, rest in questions]
        for index, key in enumerate(self._keys):
            value = items.get(key)
            if value is not None:
                self.known[index] = value

    def store(self, index: int, value: Any) -> None:
        """Store a new answer; a known one stays, also where it had to be computed again."""
        if self._items is not None and index not in self.known:
            self._items.add(self._keys[index], value)
