"""What can go wrong between here and the hub, each as one sentence that says what to do."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from huggingface_hub import constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import Unreachable, UserError


@contextmanager
def in_plain_words(
    kind: str, repository: str, revision: str | None, folder: Path, *, by: str
) -> Iterator[None]:
    """Turn the client's exceptions into a UserError; what is not foreseen passes unchanged.

    `by` says who asks, a rule or another; where nobody answered it is Unreachable.
    """
    try:
        yield
    except (httpx2.RequestError, OSError) as error:
        kind_of_error: type[UserError] = Unreachable
        if isinstance(error, HfHubHTTPError):
            status = error.response.status_code
            kind_of_error = Unreachable if status == 429 or status >= 500 else UserError
            sentence = _answered(error, kind, repository, revision)
        elif isinstance(error, OfflineModeIsEnabled):
            sentence = (
                f"HF_HUB_OFFLINE is set, so the {kind} {repository} cannot be fetched; unset it where"
                f" {by} runs."
            )
        elif isinstance(error, httpx2.RequestError):
            sentence = (
                f"{constants.ENDPOINT} cannot be reached for the {kind} {repository}"
                f" ({str(error) or type(error).__name__}). {by[0].upper()}{by[1:]} needs the internet: start"
                " Snakemake where there is one, usually a login node, since compute nodes seldom have"
                " it. What has arrived so far is kept."
            )
        elif error.errno in (errno.ENOSPC, errno.EDQUOT):
            kind_of_error = UserError
            sentence = (
                f"The disk (or your quota) became full while {repository} was fetched into {folder};"
                " free some space and run again: what has arrived so far is kept."
            )
        else:
            raise
        raise kind_of_error(plain(sentence)) from None


def _answered(error: HfHubHTTPError, kind: str, repository: str, revision: str | None) -> str:
    page = f"{constants.ENDPOINT}/{'datasets/' if kind == 'dataset' else ''}{repository}"
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return (
            f"The {kind} {repository} is gated ({status}): accept its licence at {page}, set HF_TOKEN to"
            " a token of the account that accepted it (a fine-grained one needs the permission to read"
            " gated repositories), and run again."
        )
    if isinstance(error, RevisionNotFoundError):
        return (
            f"The {kind} {repository} has no revision {revision!r}; {page}/commits lists what there is."
            " Correct the revision in the config, or leave it blank for the default branch."
        )
    if status == 401 and "invalid credentials" in (error.server_message or "").lower():
        return (
            f"{constants.ENDPOINT} refused the token in HF_TOKEN when asked for the {kind} {repository};"
            f" make a new one at {constants.ENDPOINT}/settings/tokens, or unset HF_TOKEN."
        )
    if isinstance(error, RepositoryNotFoundError) or status == 401:
        return (
            f"{constants.ENDPOINT} shows no {kind} {repository} ({status}): either the name in the config"
            f" is wrong, which {page} would tell, or it is private and HF_TOKEN must hold a token that"
            " may read it."
        )
    if status == 429:
        return (
            f"{constants.ENDPOINT} refuses more requests (429), also after waiting as long as it asked;"
            f" run again in some minutes to fetch the rest of {repository}, or set HF_TOKEN, since"
            " accounts may ask more often than anonymous users."
        )
    return (
        f"{constants.ENDPOINT} answered {status} where a file of the {kind} {repository} was expected;"
        f" look at {page}, and run again later: what has arrived so far is kept."
    )
