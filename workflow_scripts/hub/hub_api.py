"""List the files of a Hugging Face repository at one commit, and download them."""

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Literal

import httpx2
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import EntryNotFoundError, FileMetadataError, GatedRepoError
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils.sha import git_hash

from workflow_scripts.core.clean_text import shorten_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.model_files import (
    DOCUMENTATION,
    describe_missing_files,
    is_content_file,
    select_model_files,
)
from workflow_scripts.hub.manifest import HubFile, hash_files, list_file_names

RepoType = Literal["model", "dataset"]
# An allowlist keeps out code and pickles whatever their names.
_DATA_SUFFIX = r"\.(parquet|jsonl|json|csv|tsv|txt)(\.(gz|bz2|xz|zst))?"
_DATASET_FILES = re.compile(rf"{DOCUMENTATION}|(.+/)?[^/]+{_DATA_SUFFIX}")
# The client raises ValueError for names of repositories and files that it refuses, and for answers without JSON.
_HUB_ERRORS = (
    httpx2.HTTPError,
    ConnectionError,
    EntryNotFoundError,
    FileMetadataError,
    ValueError,
)


@dataclass(frozen=True)
class RepoListing:
    """One commit of a repository, with the files that may be fetched."""

    kind: RepoType
    repository: str
    commit: str
    licence: str | None
    files: dict[str, RepoSibling]
    info: Any  # huggingface_hub's ModelInfo or DatasetInfo


@contextmanager
def open_listing(kind: RepoType, repository: str, revision: str | None) -> Iterator[RepoListing]:
    """Yield the listing of a repository at a revision; None is the default branch.

    The client's errors in the block are raised as UserError.
    """
    api = HfApi(endpoint=constants.ENDPOINT)
    try:
        info = api.repo_info(
            repository, repo_type=kind, revision=revision, files_metadata=True, timeout=60
        )
        siblings = {sibling.rfilename: sibling for sibling in info.siblings or []}
        if kind == "model":
            paths = select_model_files(siblings)
        else:
            paths = {
                path
                for path in siblings
                if _DATASET_FILES.fullmatch(path) and is_content_file(path)
            }
        files = {path: siblings[path] for path in sorted(paths)}
        card = info.card_data or {}
        licence = card.get("license_name") or card.get("license") or ""
        if isinstance(licence, list):
            licence = ", ".join(licence)
        yield RepoListing(kind, repository, info.sha, shorten_text(licence) or None, files, info)
    except _HUB_ERRORS as error:
        problem = f"The {kind} {repository} cannot be fetched from {constants.ENDPOINT}: {error}"
        if isinstance(error, GatedRepoError):
            problem += " Accept its licence there, and set HF_TOKEN to a token of that account."
        raise UserError(shorten_text(problem)) from None


def require_complete(listing: RepoListing) -> None:
    """Raise UserError if a repository lacks the files that a model or dataset needs."""
    problem = None
    if listing.kind == "model":
        problem = describe_missing_files(listing.files, "choose a revision that has *.safetensors")
    elif not any(re.search(_DATA_SUFFIX, path) for path in listing.files):
        problem = (
            "holds no data files, and code of a repository is never run; if it is made by a script, set"
            " its revision to refs/convert/parquet."
        )
    if problem:
        raise UserError(
            f"The {listing.kind} {listing.repository} at commit {listing.commit} {problem}"
        )


def download(listing: RepoListing, paths: Collection[str], folder: Path) -> tuple[HubFile, ...]:
    """Download files of a commit into a folder, delete all others, and return them after checking their checksums."""
    snapshot_download(
        listing.repository,
        repo_type=listing.kind,
        revision=listing.commit,
        local_dir=folder,
        allow_patterns=[escape(path) for path in paths],
    )
    for name in set(list_file_names(folder)) - set(paths):
        (folder / name).unlink()
    files = hash_files(folder)
    altered = [file.path for file in files if _is_altered(file, listing.files[file.path], folder)]
    for name in altered:
        (folder / name).unlink()
    if altered:
        raise UserError(
            f"{altered[0]} of {listing.repository} does not match the hub's checksum and was removed; a proxy or"
            " mirror may alter files. Run again, or use another network."
        )
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return files


def _is_altered(file: HubFile, announced: RepoSibling, folder: Path) -> bool:
    """Return whether a file differs from the hub's checksum: a sha256, or git's own for small files."""
    if announced.lfs:
        return file.sha256 != announced.lfs.sha256
    return git_hash((folder / file.path).read_bytes()) != announced.blob_id
