"""Start short local jobs as forks of a process that has already imported their libraries.

The process is the forkserver of Python's multiprocessing. Jobs with another number of threads or a conda environment,
and jobs that use a GPU or the network start as usual.
"""

import gc
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from multiprocessing import connection, forkserver
from pathlib import Path

from workflow_scripts.bridge.job import configure_libraries
from workflow_scripts.bridge.snakemake_contract import (
    list_needed_environments,
    replace_script_start,
)

# Files in envs/ with many short jobs.
_EVALUATION_ENVIRONMENTS = {"lm_eval", "lighteval"}
_FORKED_ENVIRONMENTS = _EVALUATION_ENVIRONMENTS | {"reporting"}
_TABLE_LIBRARIES = ("snakemake.cli", "pandas", "scipy.stats", "matplotlib.pyplot")
# Not lighteval's models, whose import disables gradients.
_EVALUATION_LIBRARIES = (
    "lm_eval.tasks",
    "workflow_scripts.grid.train_before_test",
    "lighteval.tasks.tasks.mmlu",
)


def fork_local_jobs(workflow, threads: int) -> None:
    """Start the forkserver, and fork all later jobs that use `threads` compute threads.

    Where this run makes only tables, the forkserver imports only their libraries.
    """
    evaluates = list_needed_environments(workflow) & _EVALUATION_ENVIRONMENTS
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [*_TABLE_LIBRARIES, *(_EVALUATION_LIBRARIES if evaluates else ())]
    )
    environment = dict(os.environ)
    configure_libraries(threads)
    forkserver.ensure_running()
    os.environ.clear()
    os.environ.update(environment)
    lock = threading.Lock()  # multiprocessing.Process is not thread-safe

    def make_start(start_python: Callable) -> Callable:
        def start(job, script: str, edit: bool = False) -> None:
            if _needs_own_python(workflow, job, threads):
                start_python(job, script, edit)
                return
            process = context.Process(target=_run_script, args=(script, dict(os.environ)))
            with lock:
                process.start()
            connection.wait([process.sentinel])
            with lock:
                code = process.exitcode
            if code:
                raise subprocess.CalledProcessError(code, script)

        return start

    replace_script_start(make_start)


def _needs_own_python(workflow, job, threads: int) -> bool:
    """Return whether a job must run in a new Python process, not in a fork."""
    environment = Path(str(workflow.get_rule(job.rulename).conda_env))
    return bool(
        job.conda_env
        or environment.stem not in _FORKED_ENVIRONMENTS
        or (getattr(job.params, "compute_threads", None) or job.threads) != threads
    )


def _run_script(script: str, environment: dict[str, str]) -> None:
    threading.Thread(target=_stop_with_snakemake, daemon=True).start()
    gc.freeze()  # else each collection goes through the objects of all imported modules
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    sys.argv = [script]
    runpy.run_path(script, run_name="__main__")


def _stop_with_snakemake() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
