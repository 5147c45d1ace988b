"""The switch that keeps a job off the network.

Contract: only the fetching rules may reach the hub. Every other job says so before it imports
anything heavy, and whatever of its Python tries all the same gets an error that names the remedy.
"""

import os
import socket
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

_REMEDY = (
    "This job runs offline and tried to reach {address}. Whatever it wanted must be in the hub folder:"
    " add the model or dataset to the config, so that the rule fetch_model or fetch_dataset brings it."
)
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


class OfflineError(OSError):
    """Something tried to use the network in a job that must not."""


def tell_libraries() -> None:
    """Before they are imported: those of Hugging Face of no network, and no bars of progress in logs."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ[name] = "1"
    for library in ("DATASETS", "HUB"):  # transformers goes by the latter
        os.environ[f"HF_{library}_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    # PyTorch: rows of samples are of all lengths, and a GPU's memory is not to be left in pieces that fit none.
    if "PYTORCH_ALLOC_CONF" not in os.environ:  # its other name
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")


def go_offline(but_for: str | None = None) -> None:
    """Forbid internet connections of this process's Python; `but_for` is the address of the one server that it asks."""
    tell_libraries()
    server = urlsplit(but_for).hostname if but_for else None
    let_through = {server} if server else set()  # with what its name is looked up to
    look_up = socket.getaddrinfo

    def getaddrinfo(host, *arguments, **named):
        found = look_up(host, *arguments, **named)
        if _as_text(host) in let_through:
            let_through.update(str(one[4][0]) for one in found)
        return found

    setattr(socket, "getaddrinfo", getaddrinfo)  # noqa: B010  (mypy knows it by another signature)
    # Of each call, where its arguments name the other side.
    for name, at in (("connect", 0), ("connect_ex", 0), ("sendto", -1), ("sendmsg", 3)):
        setattr(socket.socket, name, _refusing(getattr(socket.socket, name), at, let_through))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(socket, name, _refusing_lookup(getattr(socket, name), let_through))


def _as_text(host: Any) -> Any:
    return host.decode(errors="replace") if isinstance(host, bytes | bytearray) else host


def _is_local(host: Any) -> bool:
    # Loopback stays open: PyTorch's process groups and local servers are not the network.
    if host in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse(host: Any, let_through: set[str], said: str) -> None:
    host = _as_text(host)
    if not _is_local(host) and host not in let_through:
        raise OfflineError(_REMEDY.format(address=said))


def _refusing(original, at: int, let_through: set[str]):
    def call(self, *arguments):
        address = arguments[at] if -len(arguments) <= at < len(arguments) else None
        if self.family in _FAMILIES and isinstance(address, tuple):
            _refuse(address[0], let_through, f"{address[0]}:{address[1]}")
        return original(self, *arguments)

    return call


def _refusing_lookup(original, let_through: set[str]):
    def look_up(host, *arguments, **named):
        _refuse(host, let_through, host)
        return original(host, *arguments, **named)

    return look_up
