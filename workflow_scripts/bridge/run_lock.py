"""One run at a time in a folder, no lock left behind by a kill, no job that outlives its run.

Snakemake's lock is a folder of files, which a kill -9 or a power cut leaves there, and then every
later run asks for --unlock. Locks that the operating system holds for a running process say whether
a run has begun, and whether it is still alive; where it is not, its files are swept away. And since a killed
Snakemake would leave its local jobs running, beside those of the next run, a job watches it and ends
when it has ended.
"""

import fcntl
import os
import shutil
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from workflow_scripts.core.files import is_running, this_boot

POLL_SECONDS = 0.5
_MAIN = "CHORUS_MAIN_PROCESS"
_BEGUN = "chorus.begun"
_held: list[IO] = []


def sweep_stale_lock(state: Path) -> None:
    """Remove Snakemake's lock in `state` (.snakemake) if the run that took it on this host is dead.

    Called before Snakemake takes its lock. From here on this process says that it has begun, so that a
    lock which no run has reported yet is either of one that is alive, or of none.
    """
    locks = state / "locks"
    with suppress(OSError):  # a folder that we may not write to is left alone
        state.mkdir(exist_ok=True)
        begun = (state / _BEGUN).open("a+")
        with suppress(BlockingIOError):
            fcntl.flock(begun, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not is_run_alive(state):
                _sweep(locks, begun)
        fcntl.flock(begun, fcntl.LOCK_SH)
        _held.append(begun)


def _sweep(locks: Path, begun: IO) -> None:
    """A lock of another host, or one that was there before anybody had begun, is not ours to judge.

    A machine is the same after it was started again, and, as long as it was not, under any name.
    """
    begun.seek(0)
    host, _, boot = begun.read().partition(" ")
    if not locks.is_dir() or not any(locks.iterdir()):
        begun.truncate(0)
        begun.write(f"{socket.gethostname()} {this_boot()}")
        begun.flush()
    elif host == socket.gethostname() or (boot and boot == this_boot()):
        shutil.rmtree(locks)
        print("The lock of an earlier run, which was killed, is removed.", file=sys.stderr)


def hold_run_lock(state: Path) -> bool:
    """Report that Snakemake has its lock, and hold ours until this process ends, however it ends.

    Whether we may continue: not if another run holds it. Snakemake lets two runs in that share no file, and
    the first to end removes the lock of both.
    """
    os.environ[_MAIN] = f"{socket.gethostname()}:{os.getpid()}"
    with suppress(OSError):
        file = _lock_file(state).open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.utime(file.fileno())
        _held.append(file)
    return True


def is_run_alive(state: Path) -> bool:
    """Whether a Snakemake holds our lock, as far as the file system tells."""
    try:
        with _lock_file(state).open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def this_run() -> str:
    """The Snakemake that was typed, of whatever job this is; the same in no other run."""
    return os.environ.get(_MAIN, "")


def end_with_the_run() -> None:
    """Let this job die when the Snakemake that started it on this host has died.

    A job of Slurm continues: there, jobs outlive the process that submitted them, and should.
    """
    host, _, process = this_run().rpartition(":")
    if host == socket.gethostname() and "SLURM_JOB_ID" not in os.environ:
        end_with(int(process))


def end_with(process: int) -> None:
    """Let this process die when that one of this host has died."""
    threading.Thread(target=_watch, args=(process,), daemon=True).start()


def _watch(process: int) -> None:
    while is_running(process):
        time.sleep(POLL_SECONDS)
    os._exit(1)


def _lock_file(state: Path) -> Path:
    return state / "chorus.lock"
