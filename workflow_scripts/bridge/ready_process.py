"""Local jobs start in a few milliseconds: each is a fork of a process that has imported what it needs.

There is one for each of the environments in envs/ whose jobs are many and short, because what is imported there may
not go together: lighteval, for one, switches gradients off as it is imported. Jobs on Slurm, on GPUs or in conda's
environments start as usual, and so does whatever uses the network or asks a server.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from workflow_scripts.bridge.step import server_asked, threads_of_libraries

ENVIRONMENTS = {"lm_eval", "lighteval", "reporting"}
_HERE = Path(__file__).parent
_CLIENT, _SERVER = _HERE / "start_client.py", "workflow_scripts.bridge.start_server"


class ReadyProcesses:
    """Started when the first job of an environment comes; they end with this process, however it ends."""

    def __init__(self, threads: int):
        self._threads, self._lock = threads, threading.Lock()
        self._addresses: dict[str, str] = {}
        # A pipe that nobody writes to: it closes with this process.
        self._lifeline, self._held = os.pipe()

    def address(self, environment: str) -> str:
        with self._lock:
            if environment not in self._addresses:
                self._addresses[environment] = self._started()
            return self._addresses[environment]

    def _started(self) -> str:
        # Not in this folder: a socket's path may have a hundred letters.
        folder = tempfile.mkdtemp(prefix="chorus-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        address = str(Path(folder, "ready"))
        found = [str(_HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **threads_of_libraries(self._threads)}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", _SERVER, address, str(self._lifeline)],
            env=environment | {"PYTHONPATH": os.pathsep.join(found)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=[self._lifeline],
            start_new_session=True,
        )
        assert process.stdout is not None
        process.stdout.read()  # until it closes that: it listens now
        return address


def _environment(rule, wildcards) -> str:
    """The name of a rule's file in envs/, whether or not conda is in use."""
    written = rule.conda_env
    return Path(str(written(wildcards) if callable(written) else written)).stem


def have_jobs_forked(workflow, threads: int) -> None:
    """From now on, those with as many compute threads; their libraries are told when they are imported."""
    from snakemake.script import PythonScript

    ready, as_usual = ReadyProcesses(threads), PythonScript.execute_script

    def execute_script(self, fname: str, edit: bool = False) -> None:
        environment = _environment(workflow.get_rule(self.rulename), self.wildcards)
        elsewhere = self.container_img or self.conda_env or self.env_modules
        if elsewhere or environment not in ENVIRONMENTS or server_asked(self):
            as_usual(self, fname, edit)
            return
        client = f"{sys.executable} -I -S {_CLIENT} {ready.address(environment)}"
        self._execute_cmd("{client} {fname:q}", client=client, fname=fname, is_python_script=True)

    PythonScript.execute_script = execute_script
