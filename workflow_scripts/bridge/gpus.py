"""Assign the GPUs of this machine to local jobs, so that no two jobs share a GPU.

A job locks a file named after the GPU. The operating system releases the lock when the job ends, even if it is
killed, and the lock also separates the jobs of two parallel runs.
"""

import fcntl
import os
import re
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

# Environment variables: the GPUs that this run's jobs share; whether this job has a GPU; the GPUs that CUDA uses.
_SHARED_GPUS = "CHORUS_GPUS"
_HAS_GPU = "CHORUS_GPU_GIVEN"
_VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
_POLL_SECONDS = 0.5
_locks_held: list[IO] = []  # open until this process ends


def share_gpus() -> None:
    """Tell the jobs of this run which GPUs they share; `--resources gpu=N` limits the parallel GPU jobs."""
    os.environ[_SHARED_GPUS] = ",".join(list_gpus())


def list_gpus() -> list[str]:
    """List the GPUs that this process may use, as numbers or names."""
    if (visible := os.environ.get(_VISIBLE_GPUS)) is not None:
        return re.findall(r"[^\s,]+", visible.partition("-1")[0])
    command = ["nvidia-smi", "--list-gpus"]
    with suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        return re.findall(r"^GPU (\d+):", listed.stdout, re.MULTILINE)
    return []


def reserve_gpus(resources: Any) -> None:
    """Reserve the number of GPUs that the job requests, for this process and its children.

    Slurm has already assigned the GPUs of its jobs, which may request them by gres. On a machine without GPUs the job
    runs on the CPU.
    """
    # As Slurm reads them: gpu, gpu:2, gpu:a100 or gpu:a100:2.
    gres = re.match(r"gpu(?:[^,]*:(\d+))?", str(resources.get("gres", "")))
    number = resources.get("gpu") or (int(gres[1] or 1) if gres else 0)
    shared = os.environ.get(_SHARED_GPUS)
    if not number or shared == "":
        return
    if shared:
        gpus = shared.split(",")
        os.environ[_VISIBLE_GPUS] = ",".join(_wait_for_locks(gpus, min(number, len(gpus))))
    os.environ[_HAS_GPU] = "1"


def has_gpu() -> bool:
    """Return whether this job has a GPU, reserved by `reserve_gpus`."""
    return _HAS_GPU in os.environ


def _wait_for_locks(gpus: list[str], number: int) -> list[str]:
    """Lock `number` GPUs; only one job waits at a time, so jobs that hold some GPUs cannot deadlock."""
    queue = _open_lock("queue")
    fcntl.flock(queue, fcntl.LOCK_EX)
    locked: dict[str, IO] = {}
    while True:
        for name in gpus:
            if name not in locked and len(locked) < number:
                file = _open_lock(f"gpu-{quote(name, safe='')}")
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    locked[name] = file
        if len(locked) == number:
            queue.close()
            _locks_held.extend(locked.values())
            return list(locked)
        time.sleep(_POLL_SECONDS)


def _open_lock(name: str) -> IO:
    return Path(tempfile.gettempdir(), f"chorus-{os.getuid()}-{name}.lock").open("a")
