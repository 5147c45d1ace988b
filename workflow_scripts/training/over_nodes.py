"""One training on several nodes of a Slurm job: on each, srun starts what starts the processes there."""

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.launching import TELLING, rendezvous, run_here, wait_for

_GRACE_SECONDS = 10.0
_MEETING = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "PYTHONPATH")


def run_over_nodes(arguments: str, keys: TrainingKeys, threads: int) -> int:
    """They meet on this node, the job's first; how it ended."""
    if "SLURM_JOB_ID" not in os.environ:
        raise UserError(
            f"nodes is {keys.nodes}, and this is no job of Slurm; expected nodes: 1, or a profile that"
            " submits jobs to Slurm."
        )
    from torch.distributed.elastic.utils.distributed import get_free_port

    meeting = rendezvous(socket.gethostname(), get_free_port(), keys.gpus)
    here = keys.gpus // keys.nodes
    return wait_for(
        [
            _OnNode(
                [
                    *("srun", "--overlap", "--nodes=1", "--ntasks=1", f"--relative={node}"),
                    *("--cpu-bind=none", f"--cpus-per-task={threads}", "--unbuffered"),
                    *(sys.executable, "-m", __name__, arguments, str(here), str(node * here)),
                ],
                env=os.environ | meeting,
                stdin=subprocess.PIPE,
            )
            for node in range(keys.nodes)
        ]
    )


class _OnNode(subprocess.Popen):
    """What srun runs on another node, which ends when its input does."""

    def kill(self) -> None:
        """Killed at once, srun would leave it running."""
        assert self.stdin is not None
        with suppress(OSError):
            self.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.wait(_GRACE_SECONDS)
        super().kill()


def _main() -> None:
    """On one of the nodes."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    meeting = {name: os.environ[name] for name in _MEETING}
    code = run_here(sys.argv[1], int(sys.argv[2]), meeting, first=int(sys.argv[3]))
    sys.exit(code if code in TELLING else bool(code))


def _end_with_input() -> None:
    """Its processes end with it. Python's own standard input would be locked while it ends."""
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    _main()
