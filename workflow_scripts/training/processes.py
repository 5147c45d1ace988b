"""One training on several GPUs: a process each, started here and joined by accelerate."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.run_lock import end_with
from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.offline import go_offline
from workflow_scripts.training.watching import SIGNALS

_PARENT = "CHORUS_TRAINING_PARENT"
_POLL_SECONDS = 0.2
_GRACE_SECONDS = 10.0


def count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    return int(os.environ.get("RANK", "0")) == 0


def first_alone(device: str):
    """The first process goes through the block before the others enter it."""
    if count() == 1:
        return nullcontext()
    from accelerate import PartialState

    return PartialState(cpu=device == "cpu").main_process_first()


def train_side_by_side(arguments: dict[str, Any], processes: int) -> None:
    """Run `stage.train_stage` with these arguments in so many processes, and wait for them all.

    A signal that asks to leave goes on to each of them. Where one fails, the others are ended.
    """
    again = True
    while again:
        again = _once(arguments, processes) == OUT_OF_MEMORY


OUT_OF_MEMORY = 76  # a process says so: all of them start again, with a smaller micro-batch


def _once(arguments: dict[str, Any], processes: int) -> int:
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        _PARENT: str(os.getpid()),
    }
    command = [sys.executable, "-m", __name__, json.dumps(arguments)]
    root = str(Path(__file__).resolve().parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    started = [
        subprocess.Popen(command, env=environment | {"RANK": str(n), "LOCAL_RANK": str(n)})
        for n in range(processes)
    ]
    with _passed_on(started):
        code = _wait(started)
    if code in (0, OUT_OF_MEMORY):
        return code
    if code == Interrupted.exit_code:
        raise Interrupted("Interrupted and saved; the same command goes on from there.")
    raise UserError(f"A process of the training ended with {code}; what it said stands above.")


def _wait(started: list[subprocess.Popen]) -> int:
    """Zero when all ended well, else how that one ended which drew the others down."""
    while True:
        polled = [process.poll() for process in started]
        if any(polled):
            codes = _ended(started)
            # The rest lose touch with the one that left, and fail at that.
            telling = (code for code in (OUT_OF_MEMORY, Interrupted.exit_code) if code in codes)
            return next(telling, next(filter(None, codes)))
        if all(code == 0 for code in polled):
            return 0
        time.sleep(_POLL_SECONDS)


def _ended(started: list[subprocess.Popen]) -> list[int]:
    """How they ended by themselves, with some time to do so; then those still there are killed."""
    end = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < end and any(process.poll() is None for process in started):
        time.sleep(_POLL_SECONDS)
    codes = [process.poll() for process in started]
    for process in started:
        process.kill()
        process.wait()
    return [code for code in codes if code is not None]


@contextmanager
def _passed_on(started: list[subprocess.Popen]):
    def pass_on(number, frame):
        for process in started:
            if process.poll() is None:
                process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for process in started:
            if process.poll() is None:
                process.kill()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _main() -> None:
    """One of the processes."""
    from workflow_scripts.training.checkpoint_stage import train_stage

    end_with(int(os.environ[_PARENT]))
    go_offline()
    arguments = json.loads(sys.argv[1])
    arguments |= {name: Path(path) for name, path in arguments.pop("paths").items()}
    try:
        train_stage(**arguments)
    except UserError as error:
        if is_first() or error.exit_code != Interrupted.exit_code:
            print(error, flush=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    _main()
