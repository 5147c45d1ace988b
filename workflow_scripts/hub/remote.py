"""What the hub says about one commit of a repository, and which of its files we want.

One answer tells the commit, the licence and every file's size and checksum.
"""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import httpx2
from huggingface_hub import DatasetInfo, ModelInfo, constants
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

from workflow_scripts.core.clean_text import plain, shortened
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import leaves_its_folder, sha256_file
from workflow_scripts.core.model_files import ABOUT, files_taken, is_plain, what_a_model_lacks

RepoType = Literal["model", "dataset"]

_INFO = {"model": ModelInfo, "dataset": DatasetInfo}
_TIMEOUT = httpx2.Timeout(60, connect=10)
_COMMIT = re.compile(r"[0-9a-f]{40}")
# A file being written has the name of host and process in its own, and 255 bytes for all.
_MOST_FILES, _LONGEST_NAME, _LONGEST_PATH = 100_000, 150, 500

# What may be fetched is listed, not what may not: code and pickles stay out whatever they are called.
_DATASET_FILES = re.compile(
    rf"{ABOUT}|(.+/)?[^/]+\.(parquet|jsonl|json|csv|tsv|txt)(\.(gz|bz2|xz|zst))?"
)


@dataclass(frozen=True)
class RemoteFile:
    path: str
    size: int
    sha256: str | None  # known for large files (LFS); git knows small ones by their blob id
    blob_id: str

    @property
    def digest(self) -> str:
        return self.sha256 or self.blob_id

    def matches(self, path: Path) -> bool:
        """Whether the local file has exactly the bytes the hub announced."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        return (sha256_file(path) if self.sha256 else _git_blob_id(path)) == self.digest


@dataclass(frozen=True)
class Listing:
    """One commit of a repository: the files wanted of it, and the sizes of all there are."""

    commit: str
    licence: str | None
    files: tuple[RemoteFile, ...]
    sizes: dict[str, int]
    is_gated: bool
    made_from: bool  # whether its card names a model that it was made from


def refuse_lacking(kind: RepoType, repository: str, listing: Listing) -> None:
    if lacking := _what_is_lacking(kind, {file.path for file in listing.files}):
        raise UserError(f"The {kind} {repository} at commit {listing.commit} {lacking}")


def read_listing(kind: RepoType, repository: str, revision: str | None) -> Listing:
    """Ask the hub what `revision` (None: the default branch) is, and choose the files of it."""
    info = _ask(kind, repository, revision)
    listed = info.siblings or []
    for file in listed:
        if leaves_its_folder(file.rfilename):
            raise UserError(
                f"{repository} lists the file {file.rfilename!r}, which would be written outside its folder;"
                " expected plain relative paths. Nothing was fetched: do not trust this repository."
            )
    wanted = _choose(kind, [file.rfilename for file in listed])
    _refuse_too_much(repository, len(listed), wanted)
    files = []
    for file in listed:
        if file.rfilename in wanted:
            sha256 = file.lfs.sha256 if file.lfs else None
            if file.size is None or not (sha256 or file.blob_id):
                raise _not_a_hub()
            files.append(RemoteFile(file.rfilename, file.size, sha256, file.blob_id))
    return Listing(
        info.sha,
        _licence(info.card_data),
        tuple(sorted(files, key=lambda f: f.path)),
        {file.rfilename: file.size or 0 for file in listed},
        is_gated=bool(getattr(info, "gated", False)),
        made_from=bool(info.card_data and info.card_data.get("base_model")),
    )


def _refuse_too_much(repository: str, listed: int, wanted: Collection[str]) -> None:
    """Before anything is fetched: what no disk could name, or nobody would look through."""
    if listed > _MOST_FILES:
        raise UserError(
            f"{repository} lists {listed:,} files; expected at most {_MOST_FILES:,}. Nothing was fetched."
        )
    for path in wanted:
        if max(map(len, path.encode().split(b"/"))) > _LONGEST_NAME or len(path) > _LONGEST_PATH:
            raise UserError(
                f"{repository} lists a file with a name of {len(path):,} characters ({path[:40]}…); expected"
                f" at most {_LONGEST_NAME} in each part and {_LONGEST_PATH} in all. Nothing was fetched."
            )


def _ask(kind: RepoType, repository: str, revision: str | None) -> ModelInfo | DatasetInfo:
    url = f"{constants.ENDPOINT}/api/{kind}s/{repository}"
    if revision is not None:
        url += f"/revision/{quote(revision, safe='')}"
    # The call of HfApi.model_info, which would give up at the first 429 or 503. A connection
    # that cannot be made is not tried again: on a node without a network it never will be.
    response = http_backoff(
        "GET",
        url,
        params={"blobs": True},
        headers=build_hf_headers(),
        timeout=_TIMEOUT,
        retry_on_exceptions=(httpx2.ReadTimeout, httpx2.ReadError, httpx2.RemoteProtocolError),
    )
    hf_raise_for_status(response)
    try:
        info = _INFO[kind](**response.json())
    except (ValueError, KeyError, TypeError):
        raise _not_a_hub() from None
    if not _COMMIT.fullmatch(info.sha or ""):
        raise _not_a_hub()
    return info


def _not_a_hub() -> UserError:
    return UserError(
        f"{plain(constants.ENDPOINT)} does not answer as a Hugging Face hub does (commit, sizes and"
        " checksums were expected); check HF_ENDPOINT, or the proxy or login page in between."
    )


def _choose(kind: RepoType, paths: list[str]) -> set[str]:
    if kind == "model":
        return files_taken(paths)
    return {path for path in paths if _DATASET_FILES.fullmatch(path) and is_plain(path)}


def _what_is_lacking(kind: RepoType, wanted: set[str]) -> str | None:
    if kind == "dataset":
        if any(re.search(r"\.(parquet|jsonl|json|csv|tsv|txt)\b", path) for path in wanted):
            return None
        return (
            "holds no data files (parquet, jsonl, json, csv, tsv or txt), and code of a repository is"
            " never run; if it is made by a script, set its revision to refs/convert/parquet."
        )
    return what_a_model_lacks(wanted, "choose a revision or a repository with *.safetensors files")


def _licence(card) -> str | None:
    if card is None:
        return None
    licence = card.get("license")
    if licence == "other":
        licence = card.get("license_name") or licence
    return licence_of(licence)


def licence_of(said: Any) -> str | None:
    """What a card says, in words, whatever kind of value stands there."""
    words = said if isinstance(said, list) else [said]
    return None if said is None else shortened(", ".join(map(str, words)))


def _git_blob_id(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
