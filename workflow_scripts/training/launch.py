"""Train on several GPUs of a node: torchrun starts a process for each."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.files import is_running
from workflow_scripts.core.offline import block_network
from workflow_scripts.training.checkpoint_stage import train_stage
from workflow_scripts.training.processes import SIGNALS, handle_signals
from workflow_scripts.training.requests import StageRequest

_ROOT = str(Path(__file__).resolve().parents[2])
_SHUTDOWN_SECONDS = 600  # that processes have to save and exit


def launch_processes(paths: dict[str, Path], request: StageRequest) -> None:
    """Run `train_stage` in as many processes as the recipe has GPUs, and wait for them all."""
    arguments = {"paths": paths, "request": request.to_params(), "parent": os.getpid()}
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        f"--nproc-per-node={request.keys.gpus}",
        f"--signals-to-handle={','.join(number.name for number in SIGNALS)}",
        f"--shutdown-timeout={_SHUTDOWN_SECONDS}",
        *("--module", __name__, json.dumps(arguments, default=str)),
    ]
    path = os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path})
    signals: list[int] = []

    def forward_signal(number, frame):
        signals.append(number)
        process.send_signal(number)

    with handle_signals(forward_signal):
        code = process.wait()
    if code and signals:
        raise Interrupted("Interrupted and saved; the same command resumes from there.")
    if code:
        raise UserError("A process of the training failed; its output is above.")


def _train_process(paths: dict[str, str], request: dict, parent: int) -> None:
    """Train in one of the processes, which ends when the job that started it has died."""
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
    block_network()
    train_stage(**{key: Path(paths[key]) for key in paths}, request=StageRequest.of(request))


def _exit_with(parent: int) -> None:
    while is_running(parent):
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    _train_process(**json.loads(sys.argv[1]))
