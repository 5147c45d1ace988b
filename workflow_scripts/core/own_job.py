"""Whose job this is: which process came last to run it, and whether an earlier one was killed.

A job may be started again while an earlier one still runs (on a node that Slurm has lost, and given its
job to another). Its entry in the journal says who came last: an earlier one looks before it writes
anything that counts, finds another's name, and leaves.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import Interrupted

# The entry's file and its writer; processes that a job starts inherit it.
VARIABLE = "CHORUS_JOB"
_POLL_SECONDS = 1.0


def is_mine() -> bool:
    """Whether no other process has taken up this job since; true where nothing is known."""
    if VARIABLE not in os.environ:
        return True
    path, writer = json.loads(os.environ[VARIABLE])
    entry = read_entry(Path(path))
    return entry is None or entry.get("writer") == writer


def was_killed_before() -> bool:
    """Whether the last one that ran this job had no time to say how it ended."""
    if VARIABLE not in os.environ:
        return False
    entry = read_entry(Path(json.loads(os.environ[VARIABLE])[0])) or {}
    return entry.get("killed_before", False)


def leave_if_replaced() -> None:
    """Before writing what another process of the same job may be writing too.

    On a node that Slurm has lost it waits for Slurm to end it: if it ended by itself, the Snakemake
    that runs it there would remove its outputs as those of a failed job, and they are its successor's.
    """
    if is_mine():
        return
    print(
        "This job was started again elsewhere, which continues; this one does no more.", flush=True
    )
    while "SLURM_JOB_ID" in os.environ:
        time.sleep(_POLL_SECONDS)
    raise Interrupted("This job was started again elsewhere, which continues; this one leaves.")


def read_entry(path: Path) -> Any:
    """What a JSON file says; None where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
