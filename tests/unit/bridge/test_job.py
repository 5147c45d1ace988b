"""Test the context of every job: log, network block, one-sentence errors, hidden tokens."""

import os
import subprocess
import sys

import pytest

from tests.processes import ROOT
from tests.waiting import wait_until

PREAMBLE = """
import ctypes, os, signal, socket, subprocess, sys, urllib.request
from types import SimpleNamespace
from pathlib import Path
from workflow_scripts.core.errors import UserError
from workflow_scripts.bridge.job import step
job = SimpleNamespace(
    rule="evaluate_direct", log=["logs/x.log"], threads=1, params=SimpleNamespace(compute_threads=2)
)

def attempt(call, *arguments, **options):
    try:
        print(call(*arguments, **options))
    except Exception as error:
        print(type(getattr(error, "reason", error)).__name__)

"""


def run(folder, code, **environment):
    """Run a job in a subprocess, because it changes its process; return the result and the log."""
    result = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    return result, (folder / "logs/x.log").read_text()


@pytest.mark.parametrize(
    ("work", "code", "expected"),
    [
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise UserError('refused: ' + os.environ['HF_TOKEN'])", 1, "evaluate_direct: refused: <token>\n"),
        ("print(os.environ['OMP_NUM_THREADS'])", 0, "2\n"),
    ],
)  # fmt: skip
def test_job_log(tmp_path, work, code, expected):
    result, log = run(tmp_path, f"with step(job):\n    {work}", HF_TOKEN="hf_planted")
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")
    assert expected in log and "hf_planted" not in log


def test_log_hides_tokens(tmp_path):
    """The log of child processes and compiled code has no tokens and no terminal escape codes."""
    code = """
with step(job):
    subprocess.run([sys.executable, "-c", "import os; print(os.environ['HF_TOKEN'] * 3)"])
    subprocess.run("printf 'in %s' pieces-; printf %s $HF_TOKEN; printf ' of %s' $HUB_PASSWORD", shell=True)
    ctypes.CDLL(None).puts(b"\\x1b]0;owned\\x07 " + os.environ["HF_TOKEN"].encode())
    ctypes.CDLL(None).fflush(None)
    print("\\x1b[2Jgone\\rand http://me:my-password@mirror/x, my-password")
    os.write(2, b"no end")
"""
    secrets = {"HF_TOKEN": "hf_planted0123", "HUB_PASSWORD": "hf_planted0123-and-more"}
    _, log = run(tmp_path, code, HF_ENDPOINT="http://me:my-password@mirror", **secrets)
    assert "planted" not in log and "my-password" not in log and "\x1b" not in log
    assert log.startswith("<token><token><token>\nin pieces-<token> of <token>")
    assert "\ufffd[2Jgone\nand http://mirror/x, <token>\n" in log
    assert "no end" in log


@pytest.mark.parametrize("end", ["os.kill(0, signal.SIGKILL)", "os.abort()"])
def test_killed_job_last_words(tmp_path, end):
    code = (
        f"os.setpgid(0, 0)\nwith step(job):\n    print('last words', end='', flush=True)\n    {end}"
    )
    run(tmp_path, code)
    wait_until((tmp_path / "logs/x.log").read_text, "the log has what was said last")
    assert (tmp_path / "logs/x.log").read_text() == "last words"


def test_offline_job(tmp_path):
    code = """
with step(job):
    datagrams = socket.socket(type=socket.SOCK_DGRAM)
    attempt(socket.create_connection, ("192.0.2.1", 443), timeout=1)
    attempt(socket.socket().connect_ex, ("192.0.2.1", 443))
    attempt(datagrams.sendto, b"x", 0, ("192.0.2.1", 53))
    attempt(datagrams.sendmsg, [b"x"], [], 0, ("192.0.2.1", 53))
    attempt(socket.gethostbyname_ex, b"huggingface.co")
    attempt(socket.getaddrinfo, "127.0.0.1.example.org", 443)
    attempt(urllib.request.urlopen, "http://192.0.2.1:9/api/models/gpt2")
    socket.create_connection(("192.0.2.1", 443))
"""
    _, log = run(tmp_path, code)
    assert log.splitlines()[:7] == ["OfflineError"] * 7
    assert "so that the rule fetch brings it" in log


def test_job_with_server(tmp_path):
    """A job may connect only to its model's server; no address answers, so the error shows whether it tried."""
    code = """
answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 80))]
socket.getaddrinfo = lambda host, *_: answer if host == "server.example.org" else answer[:0]
manifest = Path("hub/served/org/name/manifest.json")
manifest.parent.mkdir(parents=True)
manifest.write_text('{"served": {"endpoint": "http://server.example.org/v1"}}')
job.input = SimpleNamespace(model=str(manifest))
with step(job):
    for host in ("192.0.2.7", "192.0.2.8"):
        reached = socket.socket()
        reached.settimeout(0.01)
        attempt(reached.connect, (host, 80))
"""
    _, log = run(tmp_path, code)
    first, second, _ = log.splitlines()
    assert first != "OfflineError" and second == "OfflineError"
