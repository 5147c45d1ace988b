"""Block and report network access; every Python process of a tested run loads this file."""

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
    # Allow looking up the machine's own name, as Snakemake and PyTorch do; it needs no network.
    if host in (None, "localhost", "::1", socket.gethostname()) or str(host).startswith("127."):
        return
    with _REPORT.open("a") as report:
        report.write(f"{event} {host} by {sys.argv}\n")
    raise PermissionError(f"this test forbids the network: {event} {host}")


# An audit hook covers every socket of the process, including those of compiled Python modules.
sys.addaudithook(_forbid)
