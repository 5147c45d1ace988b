"""One training on several GPUs: a process each, started here and joined by accelerate.

torchrun's launcher (torch 2.13) was tried in this place and gives up what a training must not lose. It
passes a signal on, but thirty seconds later kills whoever has not ended, a number that nobody can set:
a training told to leave that took 45 seconds to save had saved nothing. It reports the first process
that failed, which may be one that only lost touch with the one that says why; and it restarts for any
failure or for none, where here all start again when memory ran out. `torch.multiprocessing` imports
the main module again, which under Snakemake is the step itself.
"""

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

from torch.distributed.elastic.utils.distributed import get_free_port

from workflow_scripts.bridge.run_lock import end_with
from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.machine import MachineFault, is_better_elsewhere
from workflow_scripts.core.offline import go_offline
from workflow_scripts.training.checkpoint_stage import train_stage
from workflow_scripts.training.processes import OUT_OF_MEMORY, is_first
from workflow_scripts.training.requests import StageRequest
from workflow_scripts.training.watching import signals_to

_PARENT = "CHORUS_TRAINING_PARENT"
_POLL_SECONDS = 0.2
_GRACE_SECONDS = 10.0


def train_side_by_side(paths: dict[str, Path], request: StageRequest) -> None:
    """Run `train_stage` in as many processes as the recipe has GPUs, and wait for them all.

    A signal to leave is passed to each of them. Where one fails, the others are ended.
    """
    as_text = {name: str(path) for name, path in paths.items()}
    arguments = json.dumps({"paths": as_text, "request": request.as_params()})
    while (code := _once(arguments, request.keys.gpus)) == OUT_OF_MEMORY:
        pass
    if code == Interrupted.exit_code:
        raise Interrupted("Interrupted and saved; the same command resumes from there.")
    if code == MachineFault.exit_code:
        raise MachineFault("A process of the training met a fault of this machine, named above.")
    if code:
        raise UserError(f"A process of the training ended with {code}; what it said is above.")


def _once(arguments: str, processes: int) -> int:
    root = str(Path(__file__).resolve().parents[2])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(get_free_port()),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        _PARENT: str(os.getpid()),
    }
    command = [sys.executable, "-m", __name__, arguments]
    started = [
        subprocess.Popen(command, env=environment | {"RANK": str(n), "LOCAL_RANK": str(n)})
        for n in range(processes)
    ]

    def pass_on(number, frame):
        for process in started:
            process.send_signal(number)

    with signals_to(pass_on):
        try:
            return _wait(started)
        finally:
            for process in started:
                process.kill()


def _wait(started: list[subprocess.Popen]) -> int:
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
    known = (OUT_OF_MEMORY, Interrupted.exit_code, MachineFault.exit_code)
    telling = (code for code in known if code in codes)
    return next(telling, next(filter(None, codes)))


def _main() -> None:
    """One of the processes."""
    end_with(int(os.environ[_PARENT]))
    go_offline(own_network=False)
    arguments = json.loads(sys.argv[1])
    paths = {name: Path(path) for name, path in arguments["paths"].items()}
    try:
        train_stage(**paths, request=StageRequest.of(arguments["request"]))
    except UserError as error:
        if is_first() or error.exit_code != Interrupted.exit_code:
            print(error, flush=True)
        sys.exit(error.exit_code)
    except Exception as error:
        if not is_better_elsewhere(error):
            raise
        print(traceback.format_exc(), flush=True)
        sys.exit(MachineFault.exit_code)


if __name__ == "__main__":
    _main()
