"""One training on several GPUs: a process each."""

import json
import os
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
from workflow_scripts.core.machine import MachineFault, is_better_elsewhere
from workflow_scripts.core.offline import go_offline
from workflow_scripts.training.checkpoint_stage import train_stage
from workflow_scripts.training.launching import PARENT, run_here
from workflow_scripts.training.processes import OUT_OF_MEMORY, is_first
from workflow_scripts.training.requests import StageRequest


def train_side_by_side(paths: dict[str, Path], request: StageRequest) -> None:
    """Run `train_stage` in as many processes as the recipe has GPUs, and wait for them all."""
    as_text = {name: str(path) for name, path in paths.items()}
    arguments = json.dumps({"paths": as_text, "request": request.as_params()})
    while (code := run_here(arguments, request.keys.gpus, get_free_port())) == OUT_OF_MEMORY:
        pass
    if code == Interrupted.exit_code:
        raise Interrupted("Interrupted and saved; the same command resumes from there.")
    if code == MachineFault.exit_code:
        raise MachineFault("A process of the training met a fault of this machine, named above.")
    if code:
        raise UserError(f"A process of the training ended with {code}; what it said is above.")


def _main() -> None:
    """One of the processes; what it says is in the log when it says it, in whole lines."""
    cast(TextIOWrapper, sys.stdout).reconfigure(line_buffering=True, write_through=False)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    go_offline()
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


def _end_with_parent() -> None:
    """End this process when the job that started it has died."""
    while is_running(int(os.environ[PARENT])):
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    _main()
