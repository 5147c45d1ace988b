"""Ctrl-C, or a plain kill of Snakemake: the jobs and the run end within ten seconds, and say so.

Left alone, Snakemake waits for its local jobs to finish, which may take hours, and for its next look at those
in Slurm. Here all are told to end, which has a training save its state; what has not ended soon is killed.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from workflow_scripts.bridge.orphaned_slurm_jobs import cancel_jobs_of
from workflow_scripts.bridge.slurm_requests import submits_to_slurm
from workflow_scripts.bridge.snakemake_settings import takes_lock
from workflow_scripts.bridge.terminal import close_terminal, say, show_no_more_errors

INTERRUPTED = "The run was interrupted. What was finished is kept: run the same command again, and it resumes."
_WORDS = {signal.SIGINT: "Interrupted", signal.SIGTERM: "Asked to end (SIGTERM)"}
_TO_SAVE, _TO_END = 5.0, 8.0  # seconds after the signal
_POLL = 0.1
_SLURMS = ("squeue", "scancel", "sbatch")  # which end Slurm's jobs, or say which there are
_BASH = "set -euo pipefail; "  # what Snakemake starts commands with where it is told nothing
_interrupted, _again = threading.Event(), threading.Event()


def end_quietly_before_the_first_job() -> None:
    """While there is no job to end: without a traceback."""
    for number in _WORDS:
        signal.signal(
            number, lambda number, _frame: sys.exit(f"{_words(number)} before the first job.")
        )


def end_when_asked(workflow) -> None:
    """From now on, in the main thread. It replaces Snakemake's own answer to SIGTERM, so it comes after that."""
    from snakemake.shell import shell

    # A terminal sends Ctrl-C to the jobs too, which would end in tracebacks and save nothing.
    shell.prefix(f"{_BASH}trap '' INT; ")
    for number in _WORDS:
        signal.signal(number, partial(_end, workflow))


def end_at_once_when_asked() -> None:
    """The run is over, and Snakemake may still wait a minute for a timer of its own."""
    for number in _WORDS:
        signal.signal(number, signal.SIG_DFL)


def is_interrupted() -> bool:
    return _interrupted.is_set()


def _words(number: int) -> str:
    return _WORDS[signal.Signals(number)]


def _end(workflow, number: int, _frame) -> None:
    if is_interrupted():
        _again.set()
        return
    _interrupted.set()
    # Not here: what says it may be what was interrupted.
    threading.Thread(target=_end_all, args=(workflow, number), daemon=True).start()
    # On which Snakemake starts no more jobs, waits for those that run, and gives its lock back.
    raise KeyboardInterrupt


def _end_all(workflow, number: int) -> None:
    began = time.monotonic()
    show_no_more_errors(workflow)  # of jobs that fail because they are ended
    say(f"{_words(number)}: the jobs are ended, and then this run; ten seconds at most.")
    # Without the lock they may be another run's.
    if submits_to_slurm(workflow) and takes_lock(workflow):
        threading.Thread(target=_cancel_all, daemon=True).start()
    told: set[psutil.Process] = set()
    while not _again.is_set() and time.monotonic() < began + _TO_END:
        _end_children(told, is_late=time.monotonic() > began + _TO_SAVE)
        time.sleep(_POLL)
    # Here only where Snakemake itself has not ended by now: it waits to look at Slurm's jobs.
    _end_children(told, is_late=True)
    say(INTERRUPTED)
    with suppress(OSError):
        workflow.persistence.unlock()
    close_terminal(workflow)
    os._exit(1)


def _end_children(told: set[psutil.Process], is_late: bool) -> None:
    """Each is told once, and has until it is late to do so."""
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if child.name() in _SLURMS:
                    continue
                if is_late:
                    child.kill()
                elif child not in told:
                    child.terminate()
                    told.add(child)


def _cancel_all() -> None:
    """Again and again: a submission may be on its way."""
    while True:
        cancel_jobs_of(Path.cwd())
        time.sleep(1)
