"""One small file a job: who runs it, since when, and how it ended.

`snakemake status` reads them. And since a job may be started anew while an earlier one still runs (on a
node that Slurm has lost, and given its job to another), the file says who came last: an earlier one
looks before it writes anything that counts, finds another's name, and leaves.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from workflow_scripts.core.errors import Interrupted
from workflow_scripts.core.files import write_json

FOLDER = Path(".snakemake/chorus/jobs")
_POLL_SECONDS = 1.0
_RUN = Path(".snakemake/chorus/run.json")
_MINE = "CHORUS_JOB"  # file and writer; processes that a job starts inherit it


@contextmanager
def in_journal(rule: str, log: Path) -> Iterator[None]:
    """Say that this job runs now, and when it is over how it ended; a kill leaves it running."""
    path = entry_of(log).absolute()
    before = _read(path) or {}
    entry = {
        "rule": rule,
        "log": str(log),
        "writer": f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}",
        "host": socket.gethostname(),
        "process": os.getpid(),
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
        "started": time.time(),
        # Nobody wrote how it ended: whoever ran it before was killed.
        "killed_before": before.get("state") == "running",
    }
    _write(path, entry | {"state": "running"})
    os.environ[_MINE] = json.dumps([str(path), entry["writer"]])
    state = "failed"
    try:
        yield
        state = "done"
    finally:
        if is_mine():
            _write(path, entry | {"state": state, "ended": time.time()})
        os.environ.pop(_MINE, None)


def is_mine() -> bool:
    """Whether no other process has taken up this job since; true where nothing is known."""
    if _MINE not in os.environ:
        return True
    path, writer = json.loads(os.environ[_MINE])
    entry = _read(Path(path))
    return entry is None or entry.get("writer") == writer


def was_killed_before() -> bool:
    """Whether the last one that ran this job had no time to say how it ended."""
    if _MINE not in os.environ:
        return False
    entry = _read(Path(json.loads(os.environ[_MINE])[0])) or {}
    return entry.get("killed_before", False)


def leave_if_replaced() -> None:
    """Before writing what another process of the same job may be writing too.

    On a node that Slurm has lost it waits for Slurm to end it: if it ended by itself, the Snakemake
    that runs it there would remove its outputs as those of a failed job, and they are its successor's.
    """
    if is_mine():
        return
    print("This job was started anew elsewhere, which goes on; this one does no more.", flush=True)
    while "SLURM_JOB_ID" in os.environ:
        time.sleep(_POLL_SECONDS)
    raise Interrupted("This job was started anew elsewhere, which goes on; this one leaves.")


def note_run(snakefile: str, config: dict[str, Any], targets: list[str]) -> None:
    """What this run makes, for `status`, which then need not be told."""
    about = {"snakefile": snakefile, "config": config, "targets": targets}
    _write(_RUN, about | {"started": time.time()})


def noted_run() -> dict[str, Any] | None:
    return _read(_RUN)


def entries() -> dict[str, dict[str, Any]]:
    """Of every job that ran here, by its log."""
    found = (_read(path) for path in sorted(FOLDER.glob("*.json")))
    return {entry["log"]: entry for entry in found if entry}


def entry_of(log: Path) -> Path:
    return FOLDER / f"{quote(str(log), safe='')[-200:]}.json"


def _write(path: Path, entry: dict[str, Any]) -> None:
    with suppress(OSError):  # a full disk must not hide why the job failed
        write_json(path, entry)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
