"""Read the provenance of a measurement: commit of the code, package versions and machine."""

import os
import platform
import re
import resource
import socket
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "datasets",
    "peft",
    "lm_eval",
    "lighteval",
    "flash-attn",
)


@cache
def read_code_commit() -> str | None:
    """Read the commit of the code, with '+changed' if tracked files differ from it; None outside git."""
    options = ["--always", "--abbrev=40", "--exclude=*", "--dirty=+changed"]
    try:
        output = subprocess.check_output(
            ["git", "describe", *options],
            cwd=Path(__file__).resolve().parent,
            # Dozens of jobs may run this in parallel, and none may take the index lock.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return output.strip()


def list_package_versions() -> dict[str, str]:
    """Return the versions of the installed packages that can affect a score."""
    versions = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def format_current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe_host() -> str:
    return f"{socket.gethostname()} ({describe_cpu()}, {os.cpu_count()} CPUs)"


def describe_cpu() -> str:
    """Return the CPU's name, family, model and stepping.

    CPUs of one name but another stepping may differ in the last digits of a result.
    """
    cpuinfo = Path("/proc/cpuinfo")  # exists on Linux
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    fields = dict(re.findall(r"^(.+?)\s*: (.*?)\s*$", text.partition("\n\n")[0], re.M))
    name = fields.get("model name") or platform.processor() or platform.machine()
    keys = [key for key in ("cpu family", "model", "stepping") if key in fields]
    return f"{name} ({', '.join(f'{key} {fields[key]}' for key in keys)})" if keys else name


def measure_peak_memory_mb() -> int:
    """Return the peak resident memory of this process in MB."""
    unit = 1024**2 if platform.system() == "Darwin" else 1024  # macOS counts bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
