"""What surrounds every step: the log, the network switch, errors in one sentence, no tokens."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PREAMBLE = """
from types import SimpleNamespace
from pathlib import Path
from workflow_scripts.core.errors import UserError
from workflow_scripts.bridge.step import step
snakemake = SimpleNamespace(
    rule="evaluate_direct", log=["logs/x.log"], threads=1, params=SimpleNamespace()
)
"""


def run(folder, code, **environment):
    """Run a step in a process of its own, because it changes the process."""
    result = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    return result, (folder / "logs/x.log").read_text()


def test_a_user_error_is_one_sentence_without_a_traceback(tmp_path):
    result, log = run(tmp_path, "with step(snakemake):\n    raise UserError('The disk is full.')")
    assert result.returncode == 1
    assert log == "evaluate_direct: The disk is full.\n"


def test_a_defect_leaves_its_traceback_in_the_log(tmp_path):
    result, log = run(tmp_path, "with step(snakemake):\n    1 / 0")
    assert result.returncode == 1
    assert "ZeroDivisionError" in log
    assert result.stderr == ""


def test_everything_that_is_printed_goes_to_the_log(tmp_path):
    code = "import os\nwith step(snakemake):\n    print('from python')\n    os.system('echo from outside')"
    result, log = run(tmp_path, code)
    assert result.returncode == 0
    assert "from python" in log
    assert "from outside" in log
    assert result.stdout == ""


def test_a_token_never_reaches_the_log(tmp_path):
    code = "import os\nwith step(snakemake):\n    raise UserError('refused: ' + os.environ['HF_TOKEN'])"
    _, log = run(tmp_path, code, HF_TOKEN="hf_planted")
    assert "hf_planted" not in log
    assert "refused: <token>" in log


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
        "socket.getaddrinfo('huggingface.co', 443)",
        "socket.socket().connect_ex(('192.0.2.1', 443))",
    ):
        _, log = run(tmp_path, REACH_OUT.format(attempt=attempt))
        assert log.startswith("OfflineError"), attempt
        assert "fetch_model or fetch_dataset" in log


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


def test_loopback_stays_open_for_local_servers(tmp_path):
    code = """
import socket
with step(snakemake):
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname()).close()
    print("connected")
"""
    _, log = run(tmp_path, code)
    assert log == "connected\n"


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
