"""Inject faults into the processes of a run at named moments, through injected/sitecustomize.py."""

import json
import subprocess
from collections import Counter
from pathlib import Path

from tests.waiting import wait_until

ITEM_SCORED, STEP_SAVED, STEP_TRAINED = "an item is scored", "a step is saved", "a step is trained"
PATIENCE = 300.0  # seconds; a Slurm job queues, starts Snakemake twice and imports torch


class Faults:
    """A folder of planned faults; `environment` makes each Python process load injected/sitecustomize.py."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self._folder = folder
        injected = str(Path(__file__).parent / "injected")
        self.environment = {"CHORUS_FAULTS": str(folder), "PYTHONPATH": injected}

    def plan(self, name: str, moment: str, *, within: str, time: int, action: str) -> None:
        """Plan to wait or kill at the `time`-th occurrence of a moment with `within` in its path."""
        fault = {"moment": moment, "within": within, "time": time, "action": action}
        (self._folder / f"{name}.fault").write_text(json.dumps(fault))

    def wait_for(self, name: str, run: subprocess.Popen) -> str:
        """Wait until a process of the run reaches the fault; return the id of its Slurm job."""
        path = self._folder / f"{name}.reached"
        wait_until(lambda: path.exists() or run.poll() is not None, name, PATIENCE)
        return path.read_text()

    def resume(self, name: str) -> None:
        (self._folder / f"{name}.go").touch()

    def count(self, moment: str) -> Counter:
        """Count how often each item or step was computed."""
        lines = (self._folder / "computed.txt").read_text().splitlines()
        return Counter(line for line in lines if line.startswith(moment))
