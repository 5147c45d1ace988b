"""Misfortunes that the processes of a run meet at named moments, told to them through a folder."""

import json
from collections import Counter
from pathlib import Path

from tests.waiting import wait_until

ITEM_SCORED, STEP_SAVED, STEP_TRAINED = "an item is scored", "a step is saved", "a step is trained"


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class Misfortunes:
    """`environment` makes every Python process of a run load injected/sitecustomize.py."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self._folder = folder
        self.environment = {
            "CHORUS_FAULTS": str(folder),
            "PYTHONPATH": str(Path(__file__).parent / "injected"),
        }

    def plan(
        self, name: str, moment: str, *, within: str, time: int = 1, deed: str = "wait", **more
    ) -> None:
        """`within` is part of the path of the work that is hit, `time` how often it comes to it before."""
        about = {"moment": moment, "within": within, "time": time, "deed": deed, **more}
        (self._folder / f"{name}.fault").write_text(json.dumps(about))

    def reached(self, name: str, patience: float, ended=lambda: False) -> tuple[int, str]:
        """Wait until a process has come to it: its number, and that of its Slurm job.

        In vain where the run has `ended` before.
        """
        path = self._folder / f"{name}.reached"

        def text_of_marker() -> str:
            assert not ended(), f"the run has ended, and {name!r} has not happened"
            return path.read_text() if path.exists() else ""

        text = wait_until(text_of_marker, f"{name} happens", patience)
        process, _, job = text.partition(" ")
        return int(process), job

    def let_go(self, name: str) -> None:
        (self._folder / f"{name}.go").touch()
        wait_until((self._folder / f"{name}.gone").exists, f"{name} is over")

    def log(self, rule: str, within: str) -> str:
        """Of the job whose record lies in there; nothing as long as there is none."""
        logs = sorted((self._folder.parent / "logs").glob(f"{rule}/{Path(within).name}/*.log"))
        return "".join(path.read_text() for path in logs)

    def computed(self, moment: str) -> Counter:
        """How often each thing was computed, by what it was for and which it is."""
        lines = (self._folder / "computed.txt").read_text().splitlines()
        return Counter(
            (path, what)
            for found, path, what, _ in (line.split("\t") for line in lines)
            if found == moment
        )
