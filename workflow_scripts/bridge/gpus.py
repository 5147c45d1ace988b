"""The GPUs of the machine that local jobs run on: each job has its own, and none does without it.

A job takes a GPU by locking a file of its number, which the operating system gives back when the job ends,
however it ends; so the jobs of two runs side by side have different ones too.
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

from workflow_scripts.core.errors import UserError

_SHARED, _GIVEN, _VISIBLE = "CHORUS_GPUS", "CHORUS_GPU_GIVEN", "CUDA_VISIBLE_DEVICES"
# By which schedulers tell a job that it has some.
_SIGNS = ("SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", _VISIBLE, "ROCR_VISIBLE_DEVICES")
_POLL_SECONDS = 0.5
_held: list[IO] = []


def share_gpus() -> None:
    """Have the jobs of this run share the GPUs of this machine; `--resources gpu=N` starts no more jobs than GPUs."""
    os.environ[_SHARED] = ",".join(list_gpus())


def list_gpus() -> list[str]:
    """List those that this process may use, by their numbers or names."""
    if (visible := os.environ.get(_VISIBLE)) is not None:
        return re.findall(r"[^\s,]+", visible.partition("-1")[0])
    command = ["nvidia-smi", "--list-gpus"]
    with suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        return re.findall(r"^GPU (\d+):", listed.stdout, re.MULTILINE)
    return []


def count_gpus(resources) -> int:
    """Count the GPUs that a job asks for; Slurm writes gpu:2 and gpu:a100:2, and gpu for one."""
    if not (gres := resources.get("gres")):
        number = resources.get("gpu")
        return number if isinstance(number, int) else 0
    name, *more = str(gres).split(":")
    if name != "gpu":
        return 0
    return int(more[-1]) if more and more[-1].isdigit() else 1


def take_gpus(resources: Any) -> None:
    """Take as many as the job asks for, for this process and those that it starts."""
    wanted = count_gpus(resources)
    shared = [name for name in os.environ.get(_SHARED, "").split(",") if name]
    if wanted and shared:
        os.environ[_VISIBLE] = ",".join(_wait_for_locks(shared, min(wanted, len(shared))))
    if wanted and (shared or any(map(os.environ.get, _SIGNS))):
        os.environ[_GIVEN] = "1"


def is_given() -> bool:
    """Return whether this job has been given one."""
    return _GIVEN in os.environ


def _wait_for_locks(gpus: list[str], wanted: int) -> list[str]:
    """Lock all at once or none: two jobs that each hold a part of what they want would wait for each other."""
    folder = _make_own_folder()
    while True:
        taken: dict[str, IO] = {}
        for name in gpus:
            file = (folder / f"{quote(name, safe='')}.lock").open("w")
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                taken[name] = file
            if len(taken) == wanted:
                _held.extend(taken.values())
                return list(taken)
        for locked in taken.values():
            locked.close()
        time.sleep(_POLL_SECONDS)


def _make_own_folder() -> Path:
    """Make a folder of this machine and user, whatever folders runs lie in."""
    folder = Path(tempfile.gettempdir(), f"chorus-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise UserError(
            f"{folder} belongs to somebody else; expected a folder of yours, or none. Set TMPDIR."
        )
    return folder
