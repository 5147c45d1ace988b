"""One small file a job: who runs it, since when, and how it ended.

The plan reads them, and core.own_job asks them whose a job is now.
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

from workflow_scripts.bridge.run_lock import this_run
from workflow_scripts.core.files import write_json
from workflow_scripts.core.machine import is_better_elsewhere
from workflow_scripts.core.own_job import VARIABLE, is_mine, read_entry

FOLDER = Path(".snakemake/chorus/jobs")


@contextmanager
def in_journal(rule: str, log: Path) -> Iterator[None]:
    """Say that this job runs now, and when it is over how it ended; a kill leaves it running."""
    path = entry_of(log).absolute()
    before = read_entry(path) or {}
    entry: dict[str, Any] = {
        "rule": rule,
        "log": str(log),
        "writer": f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}",
        "started": time.time(),
        # Nobody wrote how it ended: whoever ran it before was killed.
        "killed_before": before.get("state") == "running",
        "run": this_run(),
        # By whose fault it failed, in this run.
        "nodes_at_fault": nodes_at_fault(log),
    }
    _write(path, entry | {"state": "running"})
    os.environ[VARIABLE] = json.dumps([str(path), entry["writer"]])
    state = "failed"
    try:
        yield
        state = "done"
    except BaseException as error:
        if "SLURMD_NODENAME" in os.environ and is_better_elsewhere(error):
            entry["nodes_at_fault"].append(os.environ["SLURMD_NODENAME"])
        raise
    finally:
        if is_mine():
            _write(path, entry | {"state": state, "ended": time.time()})
        os.environ.pop(VARIABLE, None)


def entries() -> dict[str, dict[str, Any]]:
    """The journal's entries of all jobs that ran here, by their logs."""
    found = (read_entry(path) for path in sorted(FOLDER.glob("*.json")))
    return {entry["log"]: entry for entry in found if entry}


def nodes_at_fault(log: Path) -> list[str]:
    """The nodes that have failed this job in this run; those of an earlier one may have been mended."""
    entry = read_entry(entry_of(log)) or {}
    return entry.get("nodes_at_fault", []) if entry.get("run") == this_run() else []


def entry_of(log: Path) -> Path:
    return FOLDER / f"{quote(str(log), safe='')[-200:]}.json"


def _write(path: Path, entry: dict[str, Any]) -> None:
    with suppress(OSError):  # a full disk must not hide why the job failed
        write_json(path, entry)
