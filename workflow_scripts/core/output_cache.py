"""Keep what a job has finished by links beside its outputs.

Snakemake removes what a job declared unless it sees the job end well. A job may end well unseen: its
Snakemake was killed before it asked, its node was lost while it left, or another part of the job failed.
When it runs again and nothing that decides its outcome has changed, its outputs are put back.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_file, hash_json, read_json, write_json
from workflow_scripts.core.provenance import list_package_versions


class OutputCache:
    """Links to the outputs of a job under a key of all that decides them.

    `sound` reads the outputs, the last of which vouches for the others, and raises if they are not whole.
    """

    def __init__(self, outputs: Sequence[Path], decides: Any, sound: Callable[[], Any]):
        self._folder = outputs[-1].parent / ".finished" / outputs[-1].stem
        # By number: two outputs may differ in their folders alone.
        self._links = {
            out: self._folder / f"{number}.{out.name}" for number, out in enumerate(outputs)
        }
        self._key, self._digest = self._folder / "key", hash_json(decides)
        self._sound = sound

    def restore(self) -> bool:
        """Put all of it in its place again, if it is of this key and whole."""
        try:
            if self._key.read_text(encoding="utf-8") != self._digest:
                return False
            for output, link in self._links.items():
                output.unlink(missing_ok=True)
                os.link(link, output)
            self._sound()
        except (OSError, UserError):
            return False
        return True

    def keep(self) -> None:
        """Keep the files by links: it costs no space. Where the disk cannot link, nothing is kept."""
        with suppress(OSError):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            for output, link in self._links.items():
                os.link(output, link)
            self._key.write_text(self._digest, encoding="utf-8")


def run_cached(
    work: Callable[[], Any],
    *,
    inputs: Iterable[Path],
    outputs: Sequence[Path],
    version: str,
    request: Any,
    sound: Callable[[], Any],
    state: Path,
) -> None:
    """Do the work, or take what was kept of it; then remove `state`, which a killed job resumes from."""
    digests = {str(path): hash_file(path) for path in inputs}
    finished = OutputCache(outputs, [digests, [version, request], list_package_versions()], sound)
    if finished.restore():
        print("Done before: the outputs are restored.", flush=True)
    else:
        delete_stale_state(state, version)
        work()
        finished.keep()
    # Not before: a job that is killed loses its outputs, and needs one of the two to resume from.
    delete_resume_state(state)


def delete_stale_state(state: Path, version: str) -> None:
    """Remove what another version of the rule left to resume from; from now on it is of this version.

    What a state depends on besides, weights and settings, it says itself.
    """
    if read_json(_get_note(state)) != version:
        delete_resume_state(state)
        write_json(_get_note(state), version)


def delete_resume_state(state: Path) -> None:
    """Remove a file of answers that were scored, or the folder of a training's states."""
    shutil.rmtree(state) if state.is_dir() else state.unlink(missing_ok=True)
    _get_note(state).unlink(missing_ok=True)


def _get_note(state: Path) -> Path:
    return state.with_name(f"{state.name}.version")
