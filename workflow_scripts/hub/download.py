"""One file from the hub, going on where an earlier try stopped, and checked before it gets its name."""

import time
from collections.abc import Collection
from pathlib import Path

import httpx2
from huggingface_hub import hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_path
from workflow_scripts.hub.remote import Listing, RemoteFile

_TRIES_WITHOUT_PROGRESS = 5


def download(url: str, file: RemoteFile, target: Path, partial: Path) -> None:
    """Bring `file` to `target`; what has arrived so far is kept in `partial`, whatever happens.

    The client's own hf_hub_download starts a file again from its first byte when the process was
    killed, which for a shard of weights is gigabytes; so its transfer function is called directly.
    That is plain HTTP and not Xet, whose client cannot resume a file either and does not speak
    to mirrors (HF_ENDPOINT).
    """
    for _ in range(2):
        _transfer(url, file, partial)
        if file.matches(partial):
            with atomic_path(target) as temporary:
                partial.replace(temporary)
            return
        print(f"{file.path} did not arrive as announced; it is thrown away.")
        partial.unlink()
    raise UserError(
        f"{plain(url)} was fetched twice and twice differs from what the hub announced ({file.size} bytes,"
        f" {'sha256' if file.sha256 else 'git blob'} {file.digest}); something between the hub and"
        " here alters files (a proxy or a mirror?). Try again later or from another network."
    )


def download_small(repository: str, listing: Listing, folder: Path, paths: Collection[str]) -> None:
    """Bring these files of a model into the folder, where they are not there already."""
    for file in listing.files:
        if file.path in paths and not file.matches(folder / file.path):
            url = hf_hub_url(repository, file.path, revision=listing.commit)
            download(url, file, folder / file.path, folder / f".{file.digest}.partial")


def _transfer(url: str, file: RemoteFile, partial: Path) -> None:
    """Append to `partial` until the server has no more to send.

    http_get itself continues after a timeout or an early end, and waits as long as a 429 asks it to;
    here a connection reset and an error of the server are added.
    """
    failures = 0
    # A stored byte must be a byte of the file, or a range could not continue it.
    headers = build_hf_headers() | {"Accept-Encoding": "identity"}
    while not partial.exists() or partial.stat().st_size < file.size:
        with partial.open("ab") as stream:
            start = stream.tell()
            try:
                http_get(url, stream, resume_size=start, headers=headers)
                return
            except (httpx2.ReadError, HfHubHTTPError) as error:
                if isinstance(error, HfHubHTTPError):
                    if error.response.status_code == 416:
                        return  # the server's file is shorter than ours: the check will say so
                    if error.response.status_code < 500:
                        raise
                failures = 1 if stream.tell() > start else failures + 1
                if failures > _TRIES_WITHOUT_PROGRESS:
                    raise
                print(f"{file.path} broke off at byte {stream.tell()} ({type(error).__name__}).")
        time.sleep(2 ** (failures - 1))
