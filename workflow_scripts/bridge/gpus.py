"""The GPUs of the machine that jobs run on: each job of a local run has its own, and none does without it.

A job takes a GPU by locking a file of its number, which the operating system gives back when the job ends,
however it ends; so the jobs of two runs side by side have different ones too.
"""

import atexit
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

from workflow_scripts.bridge.snakemake_settings import list_needed_jobs, runs_jobs_here
from workflow_scripts.core.errors import UserError

_SHARED, _GIVEN, _VISIBLE = "CHORUS_GPUS", "CHORUS_GPU_GIVEN", "CUDA_VISIBLE_DEVICES"
# By which schedulers tell a job that it has some.
_SIGNS = ("SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", _VISIBLE, "ROCR_VISIBLE_DEVICES")
_POLL_SECONDS = 0.5
_held: list[IO] = []


def share_gpus(workflow) -> None:
    """Where jobs run on this machine: from now on no more of them at once than it has GPUs."""
    found = gpus_here() if runs_jobs_here(workflow) else []
    os.environ[_SHARED] = ",".join(found)
    if found:
        atexit.register(_remove_free_locks)
    if found and "gpu" not in workflow.global_resources:  # else --resources has it
        asked = (gpus_of(job.resources)[0] for job in list_needed_jobs(workflow))
        # Snakemake starts no job that asks for more than there are; here it gets all of them.
        most = max(len(found), *asked, 0)
        workflow.register_resource("gpu", most)
        workflow.scheduler.global_resources["gpu"] = most


def gpus_here() -> list[str]:
    """Those that this process may use, by their numbers or names."""
    if (visible := os.environ.get(_VISIBLE)) is not None:
        return re.findall(r"[^\s,]+", visible.partition("-1")[0])
    command = ["nvidia-smi", "--list-gpus"]
    with suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        return re.findall(r"^GPU (\d+):", listed.stdout, re.MULTILINE)
    return []


def list_capabilities() -> dict[str, tuple[int, int]]:
    """Return the compute capability of each GPU that this process may use, as far as nvidia-smi tells."""
    command = ["nvidia-smi", "--query-gpu=index,uuid,compute_cap", "--format=csv,noheader"]
    answer = ""
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=60
        ).stdout
    rows = re.findall(r"^(\d+), *(\S+), *(\d+)\.(\d+)$", answer, re.MULTILINE)
    visible = gpus_here()
    return {
        index: (int(major), int(minor))
        for index, uuid, major, minor in rows
        if index in visible or any(uuid.startswith(name) for name in visible)
    }


def gpus_of(resources) -> tuple[int, str | None]:
    """How many a job asks for, and the cluster's name of them; Slurm writes gpu:2 and gpu:a100:2, and gpu for one."""
    if not (gres := resources.get("gres")):
        number = resources.get("gpu")
        return number if isinstance(number, int) else 0, resources.get("gpu_model")
    name, *more = str(gres).split(":")
    if name != "gpu":
        return 0, None
    count = int(more.pop()) if more and more[-1].isdigit() else 1
    return count, more[0] if more else None


def take_gpus(resources: Any) -> None:
    """For this process and those that it starts, as many as its job asks for."""
    wanted, _ = gpus_of(resources)
    shared = [name for name in os.environ.get(_SHARED, "").split(",") if name]
    if wanted and shared:
        os.environ[_VISIBLE] = ",".join(_locked(shared, min(wanted, len(shared))))
    if wanted and (shared or any(map(os.environ.get, _SIGNS))):
        os.environ[_GIVEN] = "1"


def is_given() -> bool:
    """Whether this job has been given one."""
    return _GIVEN in os.environ


def _locked(gpus: list[str], wanted: int) -> list[str]:
    """All at once or none: two jobs that each hold a part of what they want would wait for each other."""
    while True:
        folder = _own_folder()  # the end of another run may have removed it
        taken: dict[str, IO] = {}
        for name in gpus:
            if len(taken) < wanted and (file := _lock(folder / f"{quote(name, safe='')}.lock")):
                taken[name] = file
        if len(taken) == wanted:
            _held.extend(taken.values())
            return list(taken)
        for file in taken.values():
            file.close()
        time.sleep(_POLL_SECONDS)


def _lock(path: Path) -> IO | None:
    """Lock a file; None where somebody else has locked it, or removes it."""
    try:
        file = path.open("w")
    except FileNotFoundError:
        return None
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
    file.close()
    return None


def _remove_free_locks() -> None:
    """Remove the files that no job has locked, and their folder with the last of them."""
    with suppress(OSError, UserError):
        folder = _own_folder()
        for path in folder.glob("*.lock"):
            if file := _lock(path):
                path.unlink()
                file.close()
        folder.rmdir()


def _own_folder() -> Path:
    """Of this machine and user, whatever folders runs lie in."""
    folder = Path(tempfile.gettempdir(), f"chorus-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise UserError(
            f"{folder} belongs to somebody else; expected a folder of yours, or none. Set TMPDIR."
        )
    return folder
