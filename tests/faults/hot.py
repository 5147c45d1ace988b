"""A process that imports everything once, and forks a child for each try: kills are cheap here.

The children do what jobs do, in folders of their own. Shared memory counts what all of them computed,
so what was computed twice shows.
"""

import mmap
import os
import random
import resource
import shutil
import signal
import struct
import sys
import time
from pathlib import Path

from tests.faults.outcome import Outcome, differences, half_written
from tests.faults.scenes import Scene
from tests.results import results_of
from workflow_scripts.evaluation.prefix import engine
from workflow_scripts.evaluation.scored_items import ScoredItems
from workflow_scripts.training.watching import SaveAndLeave

_POLL_SECONDS = 0.002
_COUNTERS = ("items", "steps")


class HotProcess:
    def __init__(self, hub: Path, folder: Path, rng: random.Random):
        self._hub, self._folder, self._rng = hub, folder, rng
        self._memory = mmap.mmap(-1, 8 * len(_COUNTERS))
        _count(ScoredItems, "add", lambda: self._add("items"))
        _count(SaveAndLeave, "on_step_end", lambda: self._add("steps"))
        _import_everything()
        # Small blocks: more moments at which something has been scored and something has not.
        engine.CPU_ANSWERS, engine.CPU_TOKENS = 4, 128

    def kill_often(self, scene: Scene, kills: int) -> Outcome:
        """Run the scene again and again, killing it at random moments until so many kills are done."""
        reference = self._fresh("reference")
        began = time.monotonic()
        self._run(scene, reference)
        seconds = time.monotonic() - began
        expected, needed = results_of(reference), self._counted()
        outcome = Outcome(scene.name, needed=needed, computed=dict.fromkeys(_COUNTERS, 0))
        while outcome.kills < kills:
            folder = self._fresh("disturbed")
            before = outcome.kills
            while outcome.kills < kills:
                if self._run(scene, folder, kill_after=self._rng.uniform(0, seconds)):
                    break
                outcome.kills += 1
                outcome.lost += half_written(folder)
                for path in scene.outputs:
                    (folder / path).unlink(missing_ok=True)
            else:
                self._run(scene, folder)
            outcome.runs += 1
            self._judge(outcome, folder, expected, outcome.kills - before)
        return outcome

    def fill_disk_often(self, scene: Scene, times: int) -> Outcome:
        """No file may grow beyond a random size: whatever is being written then, cannot be."""
        reference = self._fresh("reference")
        self._run(scene, reference)
        expected, needed = results_of(reference), self._counted()
        outcome = Outcome(
            f"{scene.name}: disk full", needed=needed, computed=dict.fromkeys(_COUNTERS, 0)
        )
        folder = self._fresh("disturbed")
        while outcome.kills < times:
            # Most files are small, a training's state is not.
            most = int(10 ** self._rng.uniform(2, 5))
            if not self._run(scene, folder, file_size=most):
                outcome.kills += 1
                outcome.lost += half_written(folder)
            for path in scene.outputs:
                (folder / path).unlink(missing_ok=True)
        self._run(scene, folder)
        outcome.runs = 1
        self._judge(outcome, folder, expected, outcome.kills)
        return outcome

    def _judge(self, outcome: Outcome, folder: Path, expected: dict, kills: int) -> None:
        for name, number in self._counted().items():
            outcome.computed[name] += number
            # A kill may cost the step that had not been saved, or the line that was half written.
            if number > outcome.needed[name] + kills:
                outcome.lost.append(
                    f"{number - outcome.needed[name]} {name} over, in {kills} kills"
                )
        outcome.lost += differences(folder, expected)
        outcome.lost += [f"{path} is left" for path in _leftovers(folder)]

    def _run(
        self,
        scene: Scene,
        folder: Path,
        kill_after: float | None = None,
        file_size: int | None = None,
    ) -> bool:
        """Whether it came to its end; where nothing is in its way, failure is an error."""
        child = os.fork()
        if child == 0:
            _work(scene, folder, file_size)
        end = time.monotonic() + (kill_after if kill_after is not None else 1e9)
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                if status and file_size is not None:
                    return False
                assert status == 0, (folder / "log").read_text()[-3000:]
                return True
            time.sleep(_POLL_SECONDS)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False

    def _fresh(self, name: str) -> Path:
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "resources").symlink_to(self._hub.parent)
        return folder

    def _add(self, name: str) -> None:
        at = 8 * _COUNTERS.index(name)
        self._memory[at : at + 8] = struct.pack("q", self._read(at) + 1)

    def _read(self, at: int) -> int:
        return struct.unpack("q", self._memory[at : at + 8])[0]

    def _counted(self) -> dict[str, int]:
        """Since it was asked last."""
        counts = {name: self._read(8 * at) for at, name in enumerate(_COUNTERS)}
        self._memory[:] = bytes(len(self._memory))
        return counts


def _import_everything() -> None:
    """What the steps would import when they come to it."""
    import transformers.models.gpt_neox.modeling_gpt_neox  # noqa: F401

    from workflow_scripts.hub.tasks import _definitions

    _definitions()


def _work(scene: Scene, folder: Path, file_size: int | None) -> None:
    """In the child; never returns."""
    status = 1
    try:
        os.chdir(folder)
        with Path("log").open("a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            sys.stdout = sys.stderr = log
            if file_size is not None:
                log.truncate(0)
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
            scene.work()
            status = 0
    except BaseException:
        import traceback

        with Path("log").open("a") as log:
            traceback.print_exc(file=log)
    finally:
        os._exit(status)


def _count(owner: type, name: str, add) -> None:
    original = getattr(owner, name)

    def counted(*args, **kwargs):
        result = original(*args, **kwargs)
        add()
        return result

    setattr(owner, name, counted)


def _leftovers(folder: Path) -> list[Path]:
    hidden = [path for path in (folder / "results").rglob(".*") if path.name != ".finished"]
    return [path.relative_to(folder) for path in hidden]
