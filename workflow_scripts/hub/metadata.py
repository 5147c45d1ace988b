"""Fetch the metadata of a submitted model before it is accepted: all files except its weights.

    <hub>/submitted/<organisation>/<name>@<commit or default>/metadata.json

This manifest lists the weights with the hub's sizes and checksums, so that the check needs no network.
"""

import traceback
from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.clean_text import shorten_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.failed_cells import write_failed_record
from workflow_scripts.core.files import read_json
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.hub.hub_api import download, open_listing
from workflow_scripts.hub.lock import find_locked_commit
from workflow_scripts.hub.manifest import HubFile, Manifest, read_manifest, write_manifest
from workflow_scripts.settings.leaderboard_submissions import MAX_SMALL_BYTES, MAX_SMALL_FILES

METADATA = "metadata.json"


def fetch_metadata(repository: str, revision: str | None, folder: Path) -> Manifest:
    """Fetch the files that `fetch` would, except weights; write the manifest last."""
    with open_listing("model", repository, revision) as listing:
        small = {
            path: file.size or 0
            for path, file in listing.files.items()
            if not path.endswith(".safetensors")
        }
        size = sum(small.values())
        if len(small) > MAX_SMALL_FILES or size > MAX_SMALL_BYTES:
            raise UserError(
                f"{repository} has {len(small):,} small files of {size:,} bytes; expected at most"
                f" {MAX_SMALL_FILES:,} of {MAX_SMALL_BYTES:,}."
            )
        files = download(listing, small, folder)
    weights = [
        HubFile(path=path, size=file.size or 0, sha256=file.lfs.sha256)
        for path, file in listing.files.items()
        if path not in small and file.lfs
    ]
    return write_manifest(
        folder,
        (*files, *weights),
        METADATA,
        kind="model",
        source="huggingface",
        repository=repository,
        revision=revision,
        commit=listing.commit,
        licence=listing.licence,
    )


def read_metadata(path: Path) -> Manifest:
    """Read the fetched metadata or a manifest; raise the error that `main` wrote in its place."""
    if failure := (read_json(path) or {}).get("broken"):
        raise UserError(failure["reason"])
    return read_manifest(path)


def main(
    repository: str,
    commit: str | None,
    metadata: Path,
    log: Path,
    revision: str | None,
    lock: str | None,
) -> None:
    """Fetch the metadata, or write the error in its place, so that one submission does not stop the others.

    Hardware errors are raised.
    """
    if commit == "default":
        commit = find_locked_commit(lock, "model", repository) or revision
    try:
        fetch_metadata(repository, commit, metadata.parent)
    except Exception as error:
        if describe_hardware_error(error):
            raise
        print(traceback.format_exc())
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        write_failed_record(metadata, shorten_text(f"{kind}{error}"), log)


if "snakemake" in globals():
    run_job(main, snakemake, network=True)
