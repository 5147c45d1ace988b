"""Keep a job off the network.

Contract: only the fetching rules may reach the hub. Every other job says so before it imports
anything heavy, and whatever of its Python tries all the same gets an error that names the remedy.
"""

import os
import socket
import sys
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

_REMEDY = (
    "This job runs offline and tried to reach {host}. Whatever it wanted must be in the hub folder:"
    " add the model or dataset to the config, so that the rule fetch_model or fetch_dataset brings it."
)

_SWITCHES = (
    *("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"),
    *("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS"),
)
_LOOK_UPS = {f"socket.{name}" for name in ("getaddrinfo", "gethostbyname", "gethostbyaddr")}
_CALLS = {f"socket.{name}" for name in ("connect", "sendto", "sendmsg")}


class OfflineError(OSError):
    """Something tried to use the network in a job that must not."""


def set_offline_environment() -> None:
    """Set the environment of libraries before they are imported: no network, no bars of progress in logs."""
    os.environ |= dict.fromkeys(_SWITCHES, "1")
    # PyTorch: rows of samples are of all lengths, and a GPU's memory is not to be left in pieces that fit none.
    if "PYTORCH_ALLOC_CONF" not in os.environ:  # its other name
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")


def block_network(but_for: str | None = None) -> None:
    """Forbid internet connections of this process's Python but to the one server whose address is given."""
    set_offline_environment()
    allowed = set()
    if but_for and (server := urlsplit(but_for).hostname):
        allowed.add(server)
        with suppress(OSError):  # the client says so
            allowed |= {str(address[4][0]) for address in socket.getaddrinfo(server, None)}

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _LOOK_UPS:
            host = arguments[0]
        elif event in _CALLS and arguments[0].family in (socket.AF_INET, socket.AF_INET6):
            host = (arguments[1] or (None,))[0]
        else:
            return
        host = host.decode(errors="replace") if isinstance(host, bytes) else host
        if host not in allowed and not _is_local(host):
            raise OfflineError(_REMEDY.format(host=host))

    sys.addaudithook(check)


def _is_local(host: Any) -> bool:
    # Loopback stays open: PyTorch's process groups and local servers are not the network.
    if host in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
