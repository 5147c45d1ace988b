"""Block network access of a job.

Only the fetching rules may reach the hub. Every other job calls `block_network` before it imports large
libraries; later network calls of its Python code raise an error that names the remedy.
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
    " add the model or dataset to the config, so that the rule fetch brings it."
)

# transformers and datasets follow huggingface_hub, which sends no telemetry either when it is offline.
_SWITCHES = (
    "HF_HUB_OFFLINE",
    "HF_DATASETS_DISABLE_PROGRESS_BARS",
    "HF_HUB_DISABLE_PROGRESS_BARS",
)
_LOOK_UPS = {f"socket.{name}" for name in ("getaddrinfo", "gethostbyname", "gethostbyaddr")}
_CALLS = {f"socket.{name}" for name in ("connect", "sendto", "sendmsg")}


class OfflineError(OSError):
    """Raised if an offline job tries to use the network."""


def set_offline_environment() -> None:
    """Set the environment of libraries before their import: no network, no progress bars in logs."""
    os.environ |= dict.fromkeys(_SWITCHES, "1")
    # Batches have many lengths, which would fragment the GPU memory of PyTorch's default allocator.
    if "PYTORCH_ALLOC_CONF" not in os.environ:  # newer name of the same variable
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")


def block_network(but_for: str | None = None) -> None:
    """Forbid internet connections of this Python process, except to the server at the URL `but_for`."""
    set_offline_environment()
    allowed = set()
    if but_for and (server := urlsplit(but_for).hostname):
        allowed.add(server)
        with suppress(OSError):  # the client reports an unknown host
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
    # Loopback is allowed for PyTorch's process groups and local servers.
    if host in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
