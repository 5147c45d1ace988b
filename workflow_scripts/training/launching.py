"""The processes of one training, joined by accelerate, and waited for.

torchrun's launcher (torch 2.13) was tried in this place and gives up what a training must not lose. It
passes a signal on, but thirty seconds later kills whoever has not ended, a number that nobody can set:
a training told to leave that took 45 seconds to save had saved nothing. It reports the first process
that failed, which may be one that only lost touch with the one that says why; and it restarts for any
failure or for none, where here all start again when memory ran out. `torch.multiprocessing` imports
the main module again, which under Snakemake is the step itself.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from workflow_scripts.core.errors import Interrupted
from workflow_scripts.core.machine import MachineFault
from workflow_scripts.training.processes import OUT_OF_MEMORY, signals_to

PARENT = "CHORUS_TRAINING_PARENT"
_TELLING = (OUT_OF_MEMORY, Interrupted.exit_code, MachineFault.exit_code)
_ONE = "workflow_scripts.training.side_by_side"
_ROOT = str(Path(__file__).resolve().parents[2])
_POLL_SECONDS = 0.2
_GRACE_SECONDS = 10.0


def run_here(arguments: str, processes: int, port: int) -> int:
    """Run so many processes, which meet at the port; how they ended."""
    environment = os.environ | {
        **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
        **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(processes)),
        **{"PYTHONPATH": os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))},
        PARENT: str(os.getpid()),
    }
    return wait_for(
        [
            subprocess.Popen(
                [sys.executable, "-m", _ONE, arguments],
                env=environment | {"RANK": str(n), "LOCAL_RANK": str(n)},
            )
            for n in range(processes)
        ]
    )


def wait_for(started: Sequence[subprocess.Popen]) -> int:
    """A signal to leave is passed to each; where one fails, the others are ended."""
    passed: list[int] = []

    def pass_on(number, frame):
        passed.append(number)
        for process in started:
            process.send_signal(number)

    with signals_to(pass_on):
        try:
            code = _wait(started)
            # Before its first step and behind its last one a process has nothing to save, and just ends.
            return Interrupted.exit_code if -code in passed else code
        finally:
            for process in started:
                process.kill()


def _wait(started: Sequence[subprocess.Popen]) -> int:
    """Zero when all ended well, else how that one ended which drew the others down."""
    while not any(codes := [process.poll() for process in started]):
        if None not in codes:
            return 0
        time.sleep(_POLL_SECONDS)
    # The rest lose touch with the one that left, and fail at that; still there after a while, they
    # are killed.
    end = time.monotonic() + _GRACE_SECONDS
    while None in codes and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
        codes = [process.poll() for process in started]
    for process in started:
        process.kill()
        process.wait()
    telling = (code for code in _TELLING if code in codes)
    return next(telling, next(filter(None, codes)))
