"""Loaded by every Python process of a run under test: reaching out fails, and is written down."""

import os
import socket
import sys
from pathlib import Path

_REPORT = Path(os.environ["CHORUS_NETWORK_REPORT"])


def _forbid(event: str, arguments: tuple) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and arguments[0].family != socket.AF_UNIX:
        host = arguments[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    # Snakemake and PyTorch may ask for this machine's own name; that leaves it nowhere.
    if host in (None, "localhost", "::1", socket.gethostname()) or str(host).startswith("127."):
        return
    with _REPORT.open("a") as report:
        report.write(f"{event} {host} by {sys.argv}\n")
    raise PermissionError(f"this test forbids the network: {event} {host}")


# An audit hook sees every socket of the process, also those that compiled Python modules open.
sys.addaudithook(_forbid)
