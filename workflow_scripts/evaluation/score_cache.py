"""Store answers on disk so that a killed evaluation can resume.

The cache is an append-only file of JSON lines; an answer with a partly written line is computed again. The cache key
of an answer covers everything that it depends on, so answers of another model, prompt, setting or harness are never
reused.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from workflow_scripts.core.files import format_canonical_json
from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.hub.load import LoadedModel

# The kind of a request, its token lists and its settings.
Question = tuple[str, tuple, dict[str, Any]]


class ScoreCache:
    """A context manager over the answer file; the job removes the file once its record is stored safely."""

    def __init__(self, path: Path, *, weights_sha256: str, harness: str, settings: dict[str, Any]):
        self.path = path
        self.values: dict[str, Any] = {}
        self._run = format_canonical_json(
            {"weights": weights_sha256, "harness": harness, "settings": settings}
        ).encode()
        self._file: BinaryIO  # set in __enter__

    @classmethod
    def open_for_record(
        cls,
        record: Path,
        loaded: LoadedModel,
        *,
        harness: str,
        weights_sha256: str | None = None,
        **settings: Any,
    ) -> "ScoreCache":
        """Open the answer file of one measurement, next to its record.

        Pass `weights_sha256` if the model's weights differ from the manifest's. The file is hidden and not a declared
        output, because Snakemake deletes the declared outputs of a failed job.
        """
        # Two plans may have the same weights; the commit covers the configuration too.
        names = ("device", "dtype", "attention", "threads")
        settings |= {name: getattr(loaded, name) for name in names}
        settings |= {"commit": loaded.manifest.commit, "packages": list_package_versions()}
        return cls(
            get_score_cache_path(record),
            weights_sha256=weights_sha256 or loaded.manifest.weights_sha256,
            harness=harness,
            settings=settings,
        )

    def __enter__(self) -> "ScoreCache":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        self._file.seek(0)
        content = self._file.read()
        for line in content.splitlines():
            with suppress(ValueError):
                key, value = json.loads(line)
                self.values[key] = value
        if content and not content.endswith(b"\n"):
            # End the partial line, so that the next answer starts a new one.
            self._file.write(b"\n")
        return self

    def __exit__(self, *_exception) -> None:
        self._file.close()

    def hash_question(self, question: Question) -> str:
        """Return the cache key of an answer: a hash of the run, the tokens and the request's settings."""
        kind, token_lists, settings = question
        digest = hashlib.sha256(self._run)
        digest.update(format_canonical_json([kind, settings]).encode())
        for tokens in token_lists:
            text = ",".join(map(str, tokens))
            digest.update(f"|{len(text)}:{text}".encode())
        return digest.hexdigest()

    def add(self, key: str, value: Any) -> None:
        self.values[key] = value
        self._file.write(f"{json.dumps([key, value])}\n".encode())
        self._file.flush()


def get_score_cache_path(record: Path) -> Path:
    return record.with_name(f".{record.stem}.scored")


class Answers(dict[int, Any]):
    """The answers to a list of requests by index: those cached by an earlier job, and new ones, which are cached."""

    def __init__(
        self, items: ScoreCache | None, questions: list[Question], progress: str | None = None
    ):
        """Look up the cached answers; `progress` is the label of a progress bar."""
        super().__init__()
        self._items = items
        self._keys = [items.hash_question(question) for question in questions] if items else []
        for index, key in enumerate(self._keys):
            if items and key in items.values:
                super().__setitem__(index, items.values[key])
        self._bar = tqdm(
            total=len(questions), initial=len(self), desc=progress, disable=not progress
        )

    def __setitem__(self, index: int, value: Any) -> None:
        super().__setitem__(index, value)
        self._bar.update()
        if self._items is not None:
            self._items.add(self._keys[index], value)
