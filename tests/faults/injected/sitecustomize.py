"""Loaded by every Python process of a run under test: writes down what is computed, and waits or kills at a moment.

The folder CHORUS_FAULTS holds a file `<name>.fault` for each: the moment, what the path of the work in
hand must contain, the how-manieth time in one process, and what happens then. A fault happens once:
the first process to reach its moment takes it, by making `<name>.reached`.
`computed.txt` has a line for each item that was scored and each step that was trained.
"""

import builtins
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

_FOLDER = Path(os.environ["CHORUS_FAULTS"])
# By module, class and method: the moment, and the path and the name of what is computed.
_MOMENTS = {
    ("evaluation.score_cache", "ScoreCache", "add"): (
        "an item is scored",
        lambda items, key, value: (items.path, key),
    ),
    ("training.state", "StateFolder", "seal"): (
        "a step is saved",
        lambda state, step: (state.path, step),
    ),
    ("training.callbacks", "CheckpointOnSignal", "on_step_end"): (
        "a step is trained",
        lambda watcher, args, state, control, **_: (args.output_dir, state.global_step),
    ),
}
_times = Counter()
_import = builtins.__import__


def _meet(moment: str, path: str, name: object) -> None:
    with (_FOLDER / "computed.txt").open("ab", buffering=0) as file:  # one write, one line
        file.write(f"{moment}\t{path}\t{name}\n".encode())
    for file in sorted(_FOLDER.glob("*.fault")):
        fault = json.loads(file.read_text())
        if fault["moment"] != moment or fault["within"] not in path:
            continue
        _times[file] += 1
        if _times[file] == fault["time"] and not (reached := file.with_suffix(".reached")).exists():
            reached.write_text(os.environ.get("SLURM_JOB_ID", ""))
            if fault["action"] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            while not file.with_suffix(".go").exists():  # or until somebody ends this process
                time.sleep(0.05)


def _watch(method, moment, describe):
    def call_and_report(*args, **kwargs):
        result = method(*args, **kwargs)
        path, name = describe(*args, **kwargs)
        _meet(moment, str(path), name)
        return result

    return call_and_report


def _import_and_watch(name, *args, **kwargs):
    imported = _import(name, *args, **kwargs)
    for module, owner, method in list(_MOMENTS):
        cls = getattr(sys.modules.get(f"workflow_scripts.{module}"), owner, None)
        if cls:
            watched = _watch(getattr(cls, method), *_MOMENTS.pop((module, owner, method)))
            setattr(cls, method, watched)
    return imported


builtins.__import__ = _import_and_watch
