"""Log computed items and steps, and wait or kill at planned moments; every process of a tested run loads this.

The folder CHORUS_FAULTS has a file `<name>.fault` per fault: the moment, a part of the path of the current
work, the number of the occurrence within one process, and the action. A fault happens once: the first
process to reach it creates `<name>.reached`. `computed.txt` has a line for each scored item and trained step.
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
# For each module, class and method, the moment, and a function for the path and the name of the work.
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
    with (_FOLDER / "computed.txt").open("ab", buffering=0) as file:  # one atomic write per line
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
            while not file.with_suffix(".go").exists():  # or until the process is killed
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
