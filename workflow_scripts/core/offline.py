"""Keep a job off the network.

Contract: only the fetching rules may reach the hub. Every other job says so before it imports
anything heavy, and whatever of its Python tries all the same gets an error that names the remedy.
"""

import os
import socket
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

_REMEDY = (
    "This job runs offline and tried to reach {host}. Whatever it wanted must be in the hub folder:"
    " add the model or dataset to the config, so that the rule fetch_model or fetch_dataset brings it."
)


class OfflineError(OSError):
    """Something tried to use the network in a job that must not."""


def set_offline_environment() -> None:
    """Set the environment of libraries before they are imported: no network, no bars of progress in logs."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"
    for name in ("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS"):
        os.environ[name] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    # PyTorch: rows of samples are of all lengths, and a GPU's memory is not to be left in pieces that fit none.
    if "PYTORCH_ALLOC_CONF" not in os.environ:  # its other name
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")


def block_network(but_for: str | None = None) -> None:
    """Forbid internet connections of this process's Python but to the one server whose address is given."""
    set_offline_environment()
    allowed = (
        {urlsplit(but_for).hostname} if but_for else set()
    )  # and what the name is looked up to

    def check(host: Any) -> None:
        host = host.decode(errors="replace") if isinstance(host, bytes) else host
        if host not in allowed and not _is_local(host):
            raise OfflineError(_REMEDY.format(host=host))

    def guard_lookup(original):
        def look_up(host, *arguments, **options):
            check(host)
            answer = original(host, *arguments, **options)
            if host in allowed and original is getaddrinfo:
                allowed.update(str(address[4][0]) for address in answer)
            return answer

        return look_up

    def guard_call(original):
        def call(self, *arguments):
            # The address is the only tuple among the arguments of these calls that begins with a name.
            for address in arguments:
                if isinstance(address, tuple) and self.family in (socket.AF_INET, socket.AF_INET6):
                    check(address[0])
            return original(self, *arguments)

        return call

    getaddrinfo = socket.getaddrinfo
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(socket, name, guard_lookup(getattr(socket, name)))
    for name in ("connect", "connect_ex", "sendto", "sendmsg"):
        setattr(socket.socket, name, guard_call(getattr(socket.socket, name)))


def _is_local(host: Any) -> bool:
    # Loopback stays open: PyTorch's process groups and local servers are not the network.
    if host in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
