"""The switch that keeps a job off the network.

Contract: only the fetching rules may reach the hub. Every other job says so before it imports
anything heavy, and whatever tries all the same gets an error that names the remedy.
"""

import os
import socket

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


def go_offline() -> None:
    """Forbid internet connections in this process and tell the Hugging Face libraries so."""
    tell_libraries()
    for owner, name, refusing in (
        (socket.socket, "connect", _refuse),
        (socket.socket, "connect_ex", _refuse),
        (socket, "getaddrinfo", _refuse_lookup),
    ):
        setattr(owner, name, refusing(getattr(owner, name)))


def _is_local(host: object) -> bool:
    # Loopback stays open: PyTorch's process groups and local servers are not the network.
    return host in (None, "", "localhost", "::1") or str(host).startswith("127.")


def _refuse(original):
    def connect(self, address):
        if self.family in _FAMILIES and not _is_local(address[0]):
            raise OfflineError(_REMEDY.format(address=f"{address[0]}:{address[1]}"))
        return original(self, address)

    return connect


def _refuse_lookup(original):
    def getaddrinfo(host, *args, **kwargs):
        if not _is_local(host.decode() if isinstance(host, bytes) else host):
            raise OfflineError(_REMEDY.format(address=host))
        return original(host, *args, **kwargs)

    return getaddrinfo
