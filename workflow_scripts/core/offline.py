"""The switch that keeps a job off the network.

Contract: only the fetching rules may reach the hub. Every other job says so before it imports
anything heavy, and whatever tries all the same gets an error that names the remedy. Where Linux gives one, the job
has a network of its own with nothing but loopback in it, so that compiled code and children reach nothing either.
"""

import ctypes
import os
import socket
import struct
import sys
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from workflow_scripts.core.one_address import OneAddress

_REMEDY = (
    "This job runs offline and tried to reach {address}. Whatever it wanted must be in the hub folder:"
    " add the model or dataset to the config, so that the rule fetch_model or fetch_dataset brings it."
)
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_OF_USERS, _OF_NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER and CLONE_NEWNET of Linux
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP


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


def go_offline(*, own_network: bool = True, but_for: str | None = None) -> str | None:
    """Forbid internet connections in this process, and in what it starts; what of that is not held, in a sentence.

    Without a network of its own it is in that of its parent: processes that train together share one.
    `but_for` is the address of the one server that it asks.
    """
    tell_libraries()
    reached = OneAddress(but_for) if but_for else None
    # Of each call, where its arguments name the other side.
    for name, at in (("connect", 0), ("connect_ex", 0), ("sendto", -1), ("sendmsg", 3)):
        setattr(socket.socket, name, _refusing(getattr(socket.socket, name), at))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(socket, name, _refusing_lookup(getattr(socket, name)))
    if reached:
        reached.let_through()
    if own_network and (problem := leave_the_network()):
        return (
            f"Offline in Python alone, since this machine gives no network namespace ({problem}): compiled code"
            " and other programs that this job starts are not kept off the network."
        )
    return None


@cache
def leave_the_network() -> str | None:
    """Once for this process and its children to come; why not, where that cannot be had.

    Nobody but root may do it in a process that has other threads.
    """
    if sys.platform != "linux":
        return f"{sys.platform} has none"
    if problem := can_leave_the_network():
        return problem
    try:
        _leave()
    except OSError as error:
        return str(error.strerror)
    return None


@cache
def can_leave_the_network() -> str | None:
    """Tried in a fork, because what goes wrong half-way cannot be undone."""
    process = os.fork()
    if process == 0:
        number = 255
        try:
            _leave()
            number = 0
        except OSError as error:
            number = error.errno or number
        finally:
            os._exit(number)
    number = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return os.strerror(number) if number else None


def _leave() -> None:
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    # Root need not become another user for it, who could not read what root can.
    if libc.unshare(_OF_NETWORK | (_OF_USERS if user else 0)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user:  # still called what it was
        for name, said in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(said, encoding="ascii")
    _start_loopback()


def _start_loopback() -> None:
    """Process groups of PyTorch and local servers use it."""
    from fcntl import ioctl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", ioctl(any_socket, _GET_FLAGS, asked), 16)
        ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _is_local(host: Any) -> bool:
    # Loopback stays open: PyTorch's process groups and local servers are not the network.
    host = host.decode(errors="replace") if isinstance(host, bytes | bytearray) else host
    if host in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refusing(original, at: int):
    def call(self, *arguments):
        address = arguments[at] if -len(arguments) <= at < len(arguments) else None
        if self.family in _FAMILIES and isinstance(address, tuple) and not _is_local(address[0]):
            raise OfflineError(_REMEDY.format(address=f"{address[0]}:{address[1]}"))
        return original(self, *arguments)

    return call


def _refusing_lookup(original):
    def look_up(host, *arguments, **named):
        if not _is_local(host):
            raise OfflineError(_REMEDY.format(address=host))
        return original(host, *arguments, **named)

    return look_up
