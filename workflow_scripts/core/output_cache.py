"""Cache the outputs of finished jobs as hard links in the folder of the outputs.

Snakemake removes the outputs of a job unless it records that the job succeeded. It may not record a success, because
Snakemake or the node was killed first, or another part of the job failed. When the job runs again with the same cache
key, its outputs are restored.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_json, read_json, write_json
from workflow_scripts.core.provenance import list_package_versions


class OutputCache:
    """Hard links to the outputs of a job, under a cache key: rule version, packages, and `key` for the rest.

    `validate` reads the outputs and raises if they are incomplete; the last output has the checksums of the others.
    An interrupted job resumes from `states`, each a file of scored answers or a folder of training states, unless
    another version of its rule wrote them.
    """

    def __init__(
        self,
        outputs: Sequence[Path],
        key: Any,
        validate: Callable[[], Any],
        states: Sequence[Path],
        version: str,
    ):
        self._folder = outputs[-1].parent / ".finished" / outputs[-1].stem
        # Numbered, because two outputs may have the same name in different folders.
        self._links = {
            out: self._folder / f"{number}.{out.name}" for number, out in enumerate(outputs)
        }
        self._key = self._folder / "key"
        self._digest = hash_json([version, list_package_versions(), key])
        self._validate, self._states, self._version = validate, states, version

    def run(self, work: Callable[[], Any]) -> None:
        """Restore the outputs, or run `work` and cache them; then delete the resume states."""
        if self.restore():
            print("Done before: the outputs are restored.", flush=True)
        else:
            # A state itself records the weights and settings that it depends on.
            version_file = self._folder / "version"
            if read_json(version_file) != self._version:
                self._delete_states()
                write_json(version_file, self._version)
            work()
            self._save()
        # Last, because a killed job loses its outputs and needs the cache or the states to resume.
        self._delete_states()

    def restore(self) -> bool:
        """Restore the outputs if the cache key matches and they are complete; return whether that succeeded."""
        try:
            if self._key.read_text(encoding="utf-8") != self._digest:
                return False
            for output, link in self._links.items():
                output.unlink(missing_ok=True)
                os.link(link, output)
            self._validate()
        except (OSError, UserError):
            return False
        return True

    def _save(self) -> None:
        """Save hard links to the outputs, which use no space; without hard links on this file system, save nothing."""
        with suppress(OSError):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            for output, link in self._links.items():
                os.link(output, link)
            self._key.write_text(self._digest, encoding="utf-8")

    def _delete_states(self) -> None:
        for state in self._states:
            shutil.rmtree(state) if state.is_dir() else state.unlink(missing_ok=True)
