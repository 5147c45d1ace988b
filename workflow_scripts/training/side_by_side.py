"""One training on several GPUs of a node: a process each, joined by accelerate.

torchrun was tried and gives up what a training must not lose: thirty seconds after a signal it kills whoever still
saves, and it restarts for any failure or for none, where here all start again when memory ran out.
"""

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from io import TextIOWrapper
from pathlib import Path
from typing import cast

from torch.distributed.elastic.utils.distributed import get_free_port

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.files import is_running
from workflow_scripts.core.machine import MachineFault, describe_machine_fault
from workflow_scripts.core.offline import go_offline
from workflow_scripts.training.checkpoint_stage import train_stage
from workflow_scripts.training.processes import OUT_OF_MEMORY, signals_to
from workflow_scripts.training.requests import StageRequest

_ROOT = str(Path(__file__).resolve().parents[2])
_GRACE_SECONDS = 10.0
_TELLING = (OUT_OF_MEMORY, Interrupted.exit_code, MachineFault.exit_code)


def train_side_by_side(paths: dict[str, Path], request: StageRequest) -> None:
    """Run `train_stage` in as many processes as the recipe has GPUs, and wait for them all."""
    path_texts = {name: str(path) for name, path in paths.items()}
    arguments = json.dumps({"paths": path_texts, "request": request.as_params()})
    code = OUT_OF_MEMORY
    while code == OUT_OF_MEMORY:
        code = _run_processes(arguments, request.keys.gpus)
    if code == Interrupted.exit_code:
        raise Interrupted("Interrupted and saved; the same command resumes from there.")
    if code == MachineFault.exit_code:
        raise MachineFault("A process of the training met a fault of this machine, named above.")
    if code:
        raise UserError(f"A process of the training ended with {code}; what it said is above.")


def _run_processes(arguments: str, count: int) -> int:
    """Return how the processes ended; a signal to leave is passed to each."""
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(get_free_port()),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "PYTHONPATH": os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")])),
    }
    command = [sys.executable, "-m", __name__, arguments, str(os.getpid())]
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    started = [subprocess.Popen(command, env=environment | rank) for rank in ranks]
    signals: list[int] = []

    def pass_on(number, frame):
        signals.append(number)
        for process in started:
            process.send_signal(number)

    with signals_to(pass_on):
        codes = _wait(started)
    # Before its first step and behind its last one a process has nothing to save, and just ends.
    codes = [Interrupted.exit_code if -code in signals else code for code in codes]
    return next((code for code in _TELLING if code in codes), next(filter(None, codes), 0))


def _wait(started: list[subprocess.Popen]) -> list[int]:
    """Return the exit codes; where one fails, the others lose touch with it, fail as well or are killed."""
    deadline = float("inf")
    try:
        while any(process.poll() is None for process in started):
            if any(process.poll() for process in started):
                deadline = min(deadline, time.monotonic() + _GRACE_SECONDS)
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
    finally:
        for process in started:
            process.kill()
    return [process.wait() for process in started]


def _main(arguments: str, parent: str) -> None:
    """Train in one of the processes."""
    cast(TextIOWrapper, sys.stdout).reconfigure(line_buffering=True)
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    go_offline()
    given = json.loads(arguments)
    paths = {name: Path(path) for name, path in given["paths"].items()}
    try:
        train_stage(**paths, request=StageRequest.of(given["request"]))
    except UserError as error:
        print(error, flush=True)
        sys.exit(error.exit_code)
    except Exception as error:
        print(traceback.format_exc(), flush=True)
        sys.exit(MachineFault.exit_code if describe_machine_fault(error) else 1)


def _end_with(parent: int) -> None:
    """End this process when the job that started it has died."""
    while is_running(parent):
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    _main(*sys.argv[1:])
