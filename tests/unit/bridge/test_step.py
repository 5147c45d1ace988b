"""What surrounds every step: the log, the network switch, errors in one sentence, no tokens."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
PREAMBLE = """
from types import SimpleNamespace
from pathlib import Path
from workflow_scripts.core.errors import UserError
from workflow_scripts.bridge.step import step
snakemake = SimpleNamespace(
    rule="evaluate_direct", log=["logs/x.log"], threads=1, params=SimpleNamespace()
)

def served_by(endpoint):
    manifest = Path("hub/served/org/name/manifest.json")
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"served": {"endpoint": "%s"}}' % endpoint)
    return SimpleNamespace(model=str(manifest))
"""


class ModelsAlone(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"data": [{"id": "tiny"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def run(folder, code, **environment):
    """Run a step in a process of its own, because it changes the process; what it printed, and its log."""
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
        ("raise UserError('The disk is full.')", 1, "evaluate_direct: The disk is full.\n"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("print('from python'); os.system('echo from outside')", 0, "from python\nfrom outside\n"),
        ("raise UserError('refused: ' + os.environ['HF_TOKEN'])", 1, "refused: <token>\n"),
    ],
)
def test_all_that_a_job_says_is_in_its_log_without_tokens(tmp_path, work, code, expected):
    work = f"import os\nwith step(snakemake):\n    {work}"
    result, log = run(tmp_path, work, HF_TOKEN="hf_planted")
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")
    assert expected in log and "hf_planted" not in log


def test_neither_children_nor_compiled_code_write_a_token_or_what_a_terminal_obeys(tmp_path):
    code = """
import ctypes, os, subprocess, sys
with step(snakemake):
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
    assert log.endswith("no end")


@pytest.mark.parametrize(
    "end", ["pass", "1 / 0", "os.kill(0, SIGTERM)", "os.kill(0, SIGKILL)", "os.abort()"]
)
def test_last_words_stay_and_temporary_folders_go_however_the_job_ends(tmp_path, end):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = (
        "import os\nfrom signal import SIGKILL, SIGTERM\n"
        "from workflow_scripts.core.files import temporary_folder\n"
        "os.setpgid(0, 0)\n"
        "with step(snakemake), temporary_folder('x') as folder:\n"
        f"    print('made in', folder, end='', flush=True)\n    {end}"
    )
    run(tmp_path, code, TMPDIR=str(temporary))
    wait_until(lambda: not [*temporary.iterdir()], "its temporary folders are removed")
    assert f"made in {temporary}/" in (tmp_path / "logs/x.log").read_text()


REACH_OUT = """
import socket
with step(snakemake):
    try:
        {attempt}
    except OSError as error:
        print(type(error).__name__, error)
"""


def test_reaching_out_is_refused_and_the_remedy_named(tmp_path):
    for attempt in (
        "socket.create_connection(('192.0.2.1', 443), timeout=1)",
        "socket.socket().connect_ex(('192.0.2.1', 443))",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', 0, ('192.0.2.1', 53))",
        "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.1', 53))",
        "socket.gethostbyname_ex(b'huggingface.co')",
        "socket.getaddrinfo('127.0.0.1.example.org', 443)",
    ):
        _, log = run(tmp_path, REACH_OUT.format(attempt=attempt))
        assert log.startswith("OfflineError") and "fetch_model or fetch_dataset" in log, attempt


def test_the_hub_client_itself_is_stopped(tmp_path):
    code = """
with step(snakemake):
    from huggingface_hub import HfApi
    try:
        HfApi().model_info("gpt2")
    except Exception as error:
        print(type(error).__name__)
"""
    _, log = run(tmp_path, code, HF_ENDPOINT="http://192.0.2.1:9")
    assert log.strip().splitlines()[-1] in ("OfflineModeIsEnabled", "OfflineError", "ConnectError")


ASKS_A_SERVER = """
import asyncio, json, urllib.request
snakemake.input = served_by("http://HOST:PORT/v1")
with step(snakemake):
    import aiohttp
    address = "http://HOST:PORT/v1/models"
    print(json.loads(urllib.request.urlopen(address, timeout=5).read())["data"][0]["id"])
    async def twice():
        async with aiohttp.ClientSession() as session:
            return [(await session.get(address)).status for _ in range(2)]
    print(asyncio.run(twice()))
    for elsewhere in ("http://192.0.2.1:PORT/v1", "http://huggingface.co/v1"):
        try:
            urllib.request.urlopen(elsewhere, timeout=5)
        except OSError as error:
            print(type(getattr(error, "reason", error)).__name__)
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_job_that_asks_a_server_reaches_it_and_nothing_else(tmp_path, host):
    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelsAlone)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = ASKS_A_SERVER.replace("HOST", host).replace("PORT", str(server.server_port))
    _, log = run(tmp_path, code)
    server.shutdown()
    server.server_close()
    assert log.splitlines() == ["tiny", "[200, 200]", "OfflineError", "OfflineError"]


NAMES_ITS_SERVER = """
import socket
answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 80))]
socket.getaddrinfo = lambda host, *_: answer
snakemake.input = served_by("http://server.example.org/v1")
with step(snakemake):
    for host in ("server.example.org", "192.0.2.7", "192.0.2.8", "example.org"):
        try:
            socket.create_connection((host, 80), timeout=0.01)
        except OSError as error:
            print(type(error).__name__ == "OfflineError")
"""


def test_the_name_of_the_server_and_what_it_is_looked_up_to_are_let_through(tmp_path):
    """Nobody answers at these addresses; whether they were tried is what the errors tell."""
    _, log = run(tmp_path, NAMES_ITS_SERVER)
    assert log.splitlines() == ["False", "False", "True", "True"]


def test_compute_threads_come_from_the_rule_and_not_from_the_machine(tmp_path):
    code = """
snakemake.params.compute_threads = 1
snakemake.threads = 64
with step(snakemake):
    import torch
    print(torch.get_num_threads())
"""
    _, log = run(tmp_path, code)
    assert log == "1\n"


def test_memory_of_a_gpu_is_kept_in_one_piece_unless_somebody_wishes_otherwise(tmp_path):
    code = "import os\nwith step(snakemake):\n    print(os.environ.get('PYTORCH_CUDA_ALLOC_CONF'))"
    assert run(tmp_path, code)[1] == "expandable_segments:True\n"
    own = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
    assert run(tmp_path, code, **own)[1] == "backend:cudaMallocAsync\n"
    assert run(tmp_path, code, PYTORCH_ALLOC_CONF="max_split_size_mb:64")[1] == "None\n"
