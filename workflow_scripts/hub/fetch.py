"""Fetch one commit of a model or dataset from the hub into its folder, and write its manifest last.

Only data files, safetensors and small files are downloaded, never code or pickles.
A killed fetch leaves complete files and no manifest; the next fetch resumes with the missing files.
"""

import re
from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.hub_api import (
    RepoType,
    download,
    open_listing,
    require_complete,
)
from workflow_scripts.hub.lock import find_locked_commit
from workflow_scripts.hub.manifest import MANIFEST, Manifest, read_model_metadata, write_manifest


def fetch(
    kind: RepoType, repository: str, revision: str | None, folder: Path, commit: str | None = None
) -> Manifest:
    """Download the permitted files of one commit into `folder`, and write the manifest.

    `revision` is from the config and `commit` from the lock. The manifest's `revision` is always the
    config's, so locking a commit does not change the manifest and reruns nothing.
    """
    if commit and re.fullmatch(r"[0-9a-f]{40}", revision or "") and revision != commit:
        raise UserError(
            f"The config pins {repository} to commit {revision}, the lock to {commit}; delete its row"
            " in hub.lock.tsv to follow the config."
        )
    with open_listing(kind, repository, commit or revision) as listing:
        require_complete(listing)
        (folder / MANIFEST).unlink(missing_ok=True)
        files = download(listing, listing.files, folder)
    return write_manifest(
        folder,
        files,
        kind=kind,
        source="huggingface",
        repository=repository,
        revision=revision,
        commit=listing.commit,
        licence=listing.licence,
        **(read_model_metadata(folder) if kind == "model" else {}),
    )


def main(
    kind: RepoType, repository: str, revision: str | None, manifest: Path, lock: str | None
) -> None:
    """Fetch a repository at its locked commit if there is one, else at the config's revision."""
    commit = find_locked_commit(lock, kind, repository)
    fetch(kind, repository, revision, manifest.parent, commit)


if "snakemake" in globals():
    run_job(main, snakemake, network=True)
