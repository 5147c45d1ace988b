"""Store answers on disk so that a killed evaluation can resume.

The cache is an append-only file of JSON lines; an answer with a partly written line is computed again. The cache key
of an answer covers everything that it depends on, so answers of another model, prompt, setting or harness are never
reused.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from workflow_scripts.core.files import format_canonical_json, hash_text
from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.hub.load import LoadedModel


class ScoreCache:
    """A context manager over the answer file; the job removes the file once its record is stored safely."""

    def __init__(self, path: Path, **run: Any):
        """Store the answers in `path`; `run` is everything besides the requests that they depend on."""
        self.path = path
        self.values: dict[str, Any] = {}  # answers by cache key
        self._run = format_canonical_json(run)
        self._file: BinaryIO  # set in __enter__

    @classmethod
    def open_for_record(
        cls, record: Path, loaded: LoadedModel, weights_sha256: str | None = None
    ) -> "ScoreCache":
        """Open the answer file of one measurement, next to its record.

        Pass `weights_sha256` if the model's weights differ from the manifest's. The file is hidden and not a declared
        output, because Snakemake deletes the declared outputs of a failed job.
        """
        return cls(
            get_score_cache_path(record),
            weights=weights_sha256 or loaded.manifest.weights_sha256,
            # Two plans may have the same weights; the commit covers the configuration too.
            commit=loaded.manifest.commit,
            packages=list_package_versions(),
            device=loaded.device,
            dtype=loaded.dtype,
            attention=loaded.attention,
            threads=loaded.threads,
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

    def look_up_answers(self, descriptions: list[Any]) -> "Answers":
        """Look up the answers to requests; a description is a JSON value with the tokens and settings of a request."""
        return Answers(
            self,
            [
                hash_text(self._run + format_canonical_json(description))
                for description in descriptions
            ],
        )

    def add(self, key: str, value: Any) -> None:
        self.values[key] = value
        self._file.write(f"{json.dumps([key, value])}\n".encode())
        self._file.flush()


def get_score_cache_path(record: Path) -> Path:
    return record.with_name(f".{record.stem}.scored")


class Answers(dict[int, Any]):
    """The answers to a list of requests by index: those cached by an earlier job, and new ones, which are cached."""

    def __init__(self, cache: ScoreCache, keys: list[str]):
        super().__init__(
            (index, cache.values[key]) for index, key in enumerate(keys) if key in cache.values
        )
        self._cache, self._keys = cache, keys
        self._bar = tqdm(total=len(keys), initial=len(self), desc="Answers")

    def __setitem__(self, index: int, value: Any) -> None:
        super().__setitem__(index, value)
        self._bar.update()
        self._cache.add(self._keys[index], value)
