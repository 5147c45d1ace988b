"""Loaded by every Python process of a run under test: writes down what is computed, and has it meet
with misfortune at a named moment.

The folder CHORUS_FAULTS holds a file `<name>.fault` for each: the moment, what the path of the work in
hand must contain, the how-manieth time in one process, and what happens then. A fault happens once:
the first process to reach its moment takes it, by making `<name>.reached` with its number in it.
`computed.txt` has a line for each item that was scored and each step that was trained.
"""

import functools
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

_FOLDER = Path(os.environ["CHORUS_FAULTS"])
_MOMENTS = {
    "workflow_scripts.evaluation.score_cache": {
        "an item is scored": ("ScoreCache", "add", lambda items, key, value: (items.path, key)),
    },
    "workflow_scripts.training.state": {
        "a step is saved": ("StateFolder", "seal", lambda state, step: (state.path, step)),
    },
    "workflow_scripts.training.callbacks": {
        "a step is trained": (
            "CheckpointOnSignal",
            "on_step_end",
            lambda watcher, args, state, control, **_: (args.output_dir, state.global_step),
        ),
    },
}
_times = Counter()


def _happens(moment: str, path, what) -> None:
    path = str(path)
    line = f"{moment}\t{path}\t{what}\t{os.getpid()}\n".encode()
    with (_FOLDER / "computed.txt").open("ab", buffering=0) as file:  # one write, one line
        file.write(line)
    for fault in sorted(_FOLDER.glob("*.fault")):
        about = json.loads(fault.read_text())
        if about["moment"] != moment or about["within"] not in path:
            continue
        _times[fault.name] += 1
        if _times[fault.name] == about["time"] and _take(fault.with_suffix(".reached")):
            _DEEDS[about["deed"]](fault, Path(path))


def _take(marker: Path) -> bool:
    try:
        with marker.open("x") as file:
            file.write(f"{os.getpid()} {os.environ.get('SLURM_JOB_ID', '')}")
    except FileExistsError:
        return False
    return True


def _wait(fault: Path, _work=None) -> None:
    """Until somebody ends this process, or lets it go on."""
    while not fault.with_suffix(".go").exists():
        time.sleep(0.05)
    fault.with_suffix(".gone").touch()


def _die(_fault, _work) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


_DEEDS = {"wait": _wait, "die": _die}


def _watched(function, moment, about):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        _happens(moment, *about(*args, **kwargs))
        return result

    return wrapper


class _Watch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules above as everybody does, and wraps their functions once they are loaded."""

    def find_spec(self, name, path=None, target=None):
        if name not in _MOMENTS:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        loader, module.__loader__ = self._loader, self._loader
        loader.exec_module(module)
        for moment, (owner, name, about) in _MOMENTS[module.__name__].items():
            watched = getattr(module, owner) if owner else module
            setattr(watched, name, _watched(getattr(watched, name), moment, about))


sys.meta_path.insert(0, _Watch())
