"""Bring one commit of a model or dataset from the hub into its folder and write its manifest.

A killed or failed fetch leaves files that are whole and right, the arrived part of one more in
`.partial`, and no manifest; the next one resumes from there.
"""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from huggingface_hub import hf_hub_url

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import hub_name_problem
from workflow_scripts.hub.download import download
from workflow_scripts.hub.lock import read_lock
from workflow_scripts.hub.manifest import MANIFEST, Manifest, facts_of, seal
from workflow_scripts.hub.network_errors import in_plain_words
from workflow_scripts.hub.remote import Listing, RemoteFile, RepoType, read_listing, refuse_lacking
from workflow_scripts.hub.shared_files import one_fetch_at_a_time, take_from_beside
from workflow_scripts.settings.names import find_file

_PARTIAL = ".partial"


def fetch(
    kind: RepoType, repository: str, revision: str | None, folder: Path, commit: str | None = None
) -> Manifest:
    """Make `folder` hold exactly the wanted files of one commit, and say so in its manifest.

    `revision` is what the config asks for, `commit` what the lock says it is. The manifest records
    the first alone, so that locking a commit changes no byte of it and reruns nothing.
    """
    if problem := hub_name_problem(repository):
        raise UserError(f"{repository!r} is not a repository on the hub: {problem}.")
    _refuse_contradiction(repository, revision, commit)
    with (
        in_plain_words(kind, repository, commit or revision, folder, by=f"the rule fetch_{kind}"),
        one_fetch_at_a_time(folder),
    ):
        listing = read_listing(kind, repository, commit or revision)
        refuse_lacking(kind, repository, listing)
        folder.mkdir(parents=True, exist_ok=True)
        _remove_all_but(folder, {file.path for file in listing.files})
        _download_missing(kind, repository, listing, folder)
        shutil.rmtree(folder / _PARTIAL, ignore_errors=True)
        return seal(
            folder,
            kind=kind,
            source="huggingface",
            repository=repository,
            revision=revision,
            commit=listing.commit,
            licence=listing.licence,
            **(facts_of(folder) if kind == "model" else {}),
        )


def fetch_locked(
    kind: RepoType,
    repository: str,
    revision: str | None,
    manifest: Path,
    lock: str | None,
    workflow: Path,
) -> Manifest:
    """Fetch the commit that the lock file names, where there is a lock file and it names one."""
    commits = read_lock(find_file(lock, workflow) or Path(lock)) if lock else {}
    return fetch(kind, repository, revision, manifest.parent, commits.get((kind, repository)))


def _refuse_contradiction(repository: str, revision: str | None, commit: str | None) -> None:
    if commit and re.fullmatch(r"[0-9a-f]{40}", revision or "") and revision != commit:
        raise UserError(
            f"The config pins {repository} to commit {revision}, the lock to {commit}; delete its row"
            " in hub.lock.tsv to follow the config."
        )


def _download_missing(kind: RepoType, repository: str, listing: Listing, folder: Path) -> None:
    missing = [
        file
        for file in listing.files
        if not file.matches(folder / file.path) and not take_from_beside(file, folder)
    ]
    _remove_other_partials(missing, folder)
    _require_space(repository, missing, folder)
    for number, file in enumerate(missing, start=1):
        print(f"{number}/{len(missing)} {file.path} ({file.size:,} bytes)", flush=True)
        url = hf_hub_url(repository, file.path, repo_type=kind, revision=listing.commit)
        download(url, file, folder / file.path, _partial(folder, file))


def _partial(folder: Path, file: RemoteFile) -> Path:
    """Named by content, so that it can only ever be continued with the same file."""
    return folder / _PARTIAL / file.digest


def _remove_other_partials(missing: list[RemoteFile], folder: Path) -> None:
    (folder / _PARTIAL).mkdir(exist_ok=True)
    keep = {_partial(folder, file) for file in missing}
    for path in (folder / _PARTIAL).iterdir():
        if path not in keep:
            path.unlink()


def _require_space(repository: str, missing: list[RemoteFile], folder: Path) -> None:
    partials = {_partial(folder, file) for file in missing}
    arrived = sum(path.stat().st_size for path in partials if path.exists())
    needed = sum(file.size for file in missing) - arrived
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{repository} needs {needed / 1e6:,.1f} MB more in {folder}, where {free / 1e6:,.1f} MB"
            " are free; free some space, or move the hub folder to a larger disk (it may be a symbolic"
            " link)."
        )


def _remove_all_but(folder: Path, wanted: set[str]) -> None:
    """Sweep away what an earlier commit left, its manifest first, so that a load never mixes two."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in sorted(folder.rglob("*"), reverse=True):  # children before their folders
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts):
            continue
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # not empty
                path.rmdir()
        elif relative.as_posix() not in wanted:
            path.unlink()
