"""Test the context of every job: log, offline mode, one-sentence errors."""

import os
import subprocess
import sys

import pytest

from tests.processes import ROOT

PREAMBLE = """
import ctypes, os, signal, subprocess, sys
from types import SimpleNamespace
from workflow_scripts.core.errors import UserError
from snakemake.iocontainers import Params
from workflow_scripts.bridge.job import run_job
job = SimpleNamespace(
    rule="evaluate_direct", log=["logs/x.log"], threads=1, params=Params(fromdict={"compute_threads": 2}),
    input={}, output={}, wildcards={}, resources={},
)

def run(main):
    run_job(main, job)

"""


def run(folder, code):
    """Run a job in a subprocess, because it changes its process; return the result and the log."""
    result = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return result, (folder / "logs/x.log").read_text()


@pytest.mark.parametrize(
    ("work", "code", "expected"),
    [
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise UserError('refused')", 1, "evaluate_direct: refused\n"),
        ("print(os.environ['OMP_NUM_THREADS'])", 0, "2\n"),
    ],
)  # fmt: skip
def test_job_log(tmp_path, work, code, expected):
    result, log = run(tmp_path, f"@run\ndef main():\n    {work}")
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")
    assert expected in log


def test_log_of_other_programs(tmp_path):
    """The log has the output of child processes and of compiled code."""
    code = """
@run
def main():
    subprocess.run([sys.executable, "-c", "print('a child')"])
    ctypes.CDLL(None).puts(b"compiled")
    ctypes.CDLL(None).fflush(None)
    os.write(2, b"no end")
"""
    _, log = run(tmp_path, code)
    assert log.startswith("a child\ncompiled\nno end")


@pytest.mark.parametrize("end", ["os.kill(0, signal.SIGKILL)", "os.abort()"])
def test_killed_job_last_words(tmp_path, end):
    code = f"os.setpgid(0, 0)\n@run\ndef main():\n    print('last words', end='', flush=True)\n    {end}"
    _, log = run(tmp_path, code)
    assert log == "last words"


def test_offline_job(tmp_path):
    code = """
@run
def main():
    from huggingface_hub import HfApi
    HfApi().model_info("org/name")
"""
    _, log = run(tmp_path, code)
    assert "huggingface_hub.errors.OfflineModeIsEnabled" in log
