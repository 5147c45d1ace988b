"""Jobs that are forks of a process that is ready: what each is started with, how it ends, and what ends with it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.processes import python
from tests.waiting import wait_until
from tests.workflow.snakemake import run_snakemake
from workflow_scripts.bridge.ready_process import ENVIRONMENTS, ReadyProcesses
from workflow_scripts.bridge.step import threads_of_libraries

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "workflow_scripts/bridge/start_client.py"
TELLS = """
import json, os, sys
about = {"folder": os.getcwd(), "argv": sys.argv, "word": os.environ.get("WORD"), "process": os.getpid(),
         "name": __name__, "knew": "wave" in sys.modules}
import wave
print("printed")
print(json.dumps(about), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def ready():
    return ReadyProcesses(threads=1)


def start(ready, folder, code, threads=1, **more):
    script = folder / "step.py"
    script.write_text(code)
    command = [sys.executable, "-I", "-S", str(CLIENT), ready.address("lm_eval"), str(script)]
    environment = {**os.environ, **threads_of_libraries(threads), **more}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **piped)


def told(job) -> dict:
    printed, said = job.communicate(timeout=60)
    assert (job.returncode, printed) == (0, "printed\n"), said
    return json.loads(said)


def test_a_fork_has_the_folder_environment_output_and_arguments_of_its_job(ready, tmp_path):
    job = start(ready, tmp_path, TELLS, WORD="mine")
    about = told(job)
    assert about["folder"] == str(tmp_path)
    assert about["argv"] == [str(tmp_path / "step.py")]
    assert (about["word"], about["name"]) == ("mine", "__main__")
    assert about["process"] != job.pid
    assert told(start(ready, tmp_path, TELLS))["word"] is None, "left over from another job"


def test_what_one_job_imported_is_there_for_the_next(tmp_path):
    ready = ReadyProcesses(threads=1)
    assert not told(start(ready, tmp_path, TELLS))["knew"]
    wait_until(lambda: told(start(ready, tmp_path, TELLS))["knew"], "it is imported")


def test_a_job_with_other_threads_is_started_as_usual(ready, tmp_path):
    job = start(ready, tmp_path, TELLS, threads=2)
    assert told(job)["process"] == job.pid


def test_where_nobody_is_ready_a_job_is_started_as_usual(tmp_path):
    class Nobody:
        def address(self, _):
            return str(tmp_path / "nobody")

    job = start(Nobody(), tmp_path, TELLS)
    assert told(job)["process"] == job.pid


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; sys.exit(75)", 75),
        ("1 / 0", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_it_ends_as_the_fork_ends(ready, tmp_path, code, status):
    job = start(ready, tmp_path, code)
    _, said = job.communicate(timeout=60)
    assert job.returncode == status
    assert ("ZeroDivisionError" in said) == (code == "1 / 0")


WAITS = """
import os, signal, sys, time
from pathlib import Path
def leave(number, frame):
    Path("saved").touch()
    sys.exit(3)
signal.signal(signal.SIGTERM, leave)
Path("process").write_text(str(os.getpid()))
time.sleep(600)  # longer than any test waits for its end
"""


def number_of(folder) -> int:
    path = folder / "process"
    return int(wait_until(lambda: path.exists() and path.read_text(), "the fork runs"))


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_job_that_is_asked_to_leave_saves_and_leaves(ready, tmp_path):
    job = start(ready, tmp_path, WAITS)
    number_of(tmp_path)
    job.terminate()
    assert job.wait(60) == 3
    assert (tmp_path / "saved").exists()


def test_a_job_that_is_killed_takes_its_fork_along(ready, tmp_path):
    job = start(ready, tmp_path, WAITS)
    process = number_of(tmp_path)
    job.kill()
    job.wait()
    wait_until(lambda: is_gone(process), "the fork has ended")
    assert not (tmp_path / "saved").exists()


ENDS = """
import os, psutil
from workflow_scripts.bridge.ready_process import ReadyProcesses
print(ReadyProcesses(1).address("lm_eval"), flush=True)
(server,) = psutil.Process().children()
"""


@pytest.mark.parametrize(
    "end", ["os._exit(0)", "server.kill()", "server.terminate(); server.wait(); os._exit(0)"]
)
def test_everything_ends_with_the_process_that_started_it(end):
    """That process may be killed, or the one that is ready before it, or be told to end."""
    address = Path(python(ENDS + end).strip())
    wait_until(lambda: not address.parent.exists(), "the process that was ready has ended")


def test_what_uses_the_network_is_started_as_usual():
    """What libraries read as they are imported says that there is none."""
    online = {
        path.name
        for path in (ROOT / "workflow_scripts/steps").glob("*.py")
        if "network=True" in path.read_text()
    }
    rules = [
        rule for path in (ROOT / "rules").glob("*.smk") for rule in path.read_text().split("rule ")
    ]
    steps = [f"steps/{name}" for name in online]
    # Those with the step, and those that take their shape from one of them.
    of_these = [
        rule for rule in rules if rule.startswith("fetch_") or any(step in rule for step in steps)
    ]
    assert len(of_these) >= 4
    assert not [
        rule for rule in of_these if any(f"envs/{env}.yaml" in rule for env in ENVIRONMENTS)
    ]


@pytest.mark.workflow
def test_steps_of_a_run_on_this_machine_are_forks_tables_too(tmp_path):
    """Most jobs of a run are tables, whose environment a function of their wildcards names."""
    target = "results/figures/published_agreement.png"
    sees = {"CHORUS_SEE": str(tmp_path), "PYTHONPATH": str(seen_in(tmp_path))}
    # Not below ours: the path of a socket in it has to be short.
    with TemporaryDirectory() as temporary:
        Path(temporary, f"chorus-gpus-{os.getuid()}").mkdir()
        result = run_snakemake(tmp_path, target, TMPDIR=temporary, CUDA_VISIBLE_DEVICES="0", **sees)
        assert not os.listdir(temporary), "left behind"
    assert result.returncode == 0, result.stdout + result.stderr
    assert {path.name for path in tmp_path.glob("*.seen")} == {"table.seen", "figure.seen"}


def seen_in(folder) -> Path:
    """A folder whose sitecustomize notes each step that runs below the process that is ready."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SEES)
    return site


SEES = """
import os, runpy, sys
from pathlib import Path
run_path = runpy.run_path
def seen(path, **more):
    Path(os.environ["CHORUS_SEE"], Path(path).name.split(".")[-2] + ".seen").touch()
    return run_path(path, **more)
runpy.run_path = seen
"""
