"""What the bridge relies on in a run of Snakemake without Snakemake promising it: small runs, a test a name."""

import json
import os
from pathlib import Path

import pytest

from tests.processes import ROOT, snakemake
from workflow_scripts.bridge.draw_dag import collapsed

TELLING = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, ROOT)
from workflow_scripts.bridge import snakemake_settings as told

with Path("parsed.txt").open("a") as file:
    known = {
        "main": told.is_main_process(workflow),
        "dry": told.is_dry_run(workflow),
        "snakefile": told.main_snakefile(workflow),
        "config": [str(path) for path in told.config_files(workflow)],
        "gpu": told.default_resource(workflow, "gpu_request"),
        "none": told.default_resource(workflow, "no_such"),
    }
    print(json.dumps(known), file=file)

onstart:
    Path("started.json").write_text(json.dumps({
        "targets": told.targets_of(workflow),
        "lock": told.takes_lock(workflow),
        "deploys": told.deploys_software(workflow),
        "params": [dict(job.params.items()) for job in workflow.dag.needrun_jobs() if job.params],
        "locked": len(list(Path(".snakemake/locks").iterdir())) if Path(".snakemake/locks").is_dir() else 0,
    }))
    if config.get("stop"):
        sys.exit("somebody is here")

rule made:
    output: "made.json"
    log: "logs/made.log"
    threads: 1
    params: compute_threads=2
    script: "made.py"

# Of what runs on this machine only this has a Snakemake inside it.
rule inside:
    output: "inside.txt"
    run: Path(output[0]).touch()

rule nothing:
    default_target: True
    input: "made.json"
"""
MADE = """
import json
import os
from pathlib import Path
about = [snakemake.rule, snakemake.log[0], snakemake.threads, snakemake.params.compute_threads]
Path(snakemake.output[0]).write_text(json.dumps([*about, snakemake.scriptdir]))
"""


def put_telling(folder: Path) -> None:
    (folder / "Snakefile").write_text(TELLING.replace("ROOT", repr(str(ROOT))))
    (folder / "made.py").write_text(MADE)
    (folder / "told.yaml").write_text("a: 1\n")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A folder in which a small workflow was run, with what its Snakefile was told."""
    folder = tmp_path_factory.mktemp("told")
    put_telling(folder)
    asked = ["--configfile", "told.yaml", "--default-resources", "gpu_request=gres:a100"]
    result = snakemake(folder, *asked, "--", "made.json", "inside.txt")
    assert result.returncode == 0, result.stderr
    return folder


def parsed(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "parsed.txt").read_text().splitlines()]


def test_workflow_is_main_process_is_false_within_a_job(told):
    assert [known["main"] for known in parsed(told)] == [True, False]


def test_workflow_configfiles_and_main_snakefile_are_known_while_parsing(told):
    known = parsed(told)[0]
    assert [Path(path).name for path in known["config"]] == ["told.yaml"]
    assert known["snakefile"] == str(told / "Snakefile")


def test_resource_settings_default_resources_keep_raw_what_was_written(told):
    known = parsed(told)[0]
    assert (known["gpu"], known["none"]) == ("gres:a100", None)


def test_output_settings_dryrun_is_known_while_parsing_and_nothing_starts(tmp_path):
    put_telling(tmp_path)
    assert snakemake(tmp_path, "-n").returncode == 0
    assert [known["dry"] for known in parsed(tmp_path)] == [True]
    assert not (tmp_path / "started.json").exists()


def test_dag_settings_targets_and_execution_settings_lock_are_known_when_it_starts(told):
    started = json.loads((told / "started.json").read_text())
    assert started["targets"] == ["inside.txt", "made.json"]
    assert started["lock"] is True
    assert not [known["dry"] for known in parsed(told) if known["dry"]]


def test_job_params_are_known_when_it_starts_and_nothing_is_deployed_unless_asked(told):
    started = json.loads((told / "started.json").read_text())
    assert (started["params"], started["deploys"]) == ([{"compute_threads": 2}], False)


def test_dag_settings_targets_are_empty_for_the_default_target_and_nolock_locks_nothing(tmp_path):
    put_telling(tmp_path)
    assert snakemake(tmp_path, "--nolock").returncode == 0
    started = json.loads((tmp_path / "started.json").read_text())
    assert (started["targets"], started["lock"], started["locked"]) == ([], False, 0)


def test_the_folder_is_locked_by_files_in_snakemake_locks_before_onstart(told):
    assert json.loads((told / "started.json").read_text())["locked"] > 0
    assert not list((told / ".snakemake/locks").glob("*")), "and no more after it"


def test_the_lock_of_a_dead_run_stops_the_next_until_the_folder_locks_is_removed(tmp_path):
    put_telling(tmp_path)
    lock = tmp_path / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("made.json\n")
    stopped = snakemake(tmp_path)
    assert stopped.returncode != 0
    assert "locked" in stopped.stderr
    lock.unlink()
    lock.parent.rmdir()
    assert snakemake(tmp_path).returncode == 0


def test_an_exit_in_onstart_ends_the_run_before_its_first_job_and_leaves_no_lock(tmp_path):
    put_telling(tmp_path)
    stopped = snakemake(tmp_path, "--config", "stop=1")
    assert stopped.returncode != 0
    assert "somebody is here" in stopped.stderr
    assert not (tmp_path / "made.json").exists()
    assert not list((tmp_path / ".snakemake/locks").glob("*"))


def test_a_script_has_these_of_the_snakemake_object(told):
    assert json.loads((told / "made.json").read_text()) == [
        "made",
        "logs/made.log",
        1,
        2,
        str(told),
    ]


def test_the_text_of_a_dag_has_a_line_a_job_with_label_and_style_and_a_line_an_edge(told):
    drawn = collapsed(snakemake(told, "--dag").stdout)
    assert r'"made" [label="made\n1 job, done"' in drawn
    assert r'"nothing" [label="nothing\n1 job' in drawn
    assert '"made" -> "nothing";' in drawn


SMI = """#!/bin/sh
echo 'GPU 0: NVIDIA A100 (UUID: GPU-1)'
echo '  MIG 1g.10gb     Device  0: (UUID: MIG-1)'
echo 'GPU 1: NVIDIA A100 (UUID: GPU-2)'
echo 'Unable to determine the device handle for GPU2: GPU is lost.'
"""
ON_GPUS = """
import sys
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.gpus import share_gpus

onstart:
    share_gpus(workflow)

rule all:
    input: expand("{at}.json", at=range(4))

rule one:
    output: "{at}.json"
    log: "{at}.log"
    threads: 1
    priority: lambda wildcards: 9 - int(wildcards.at)
    resources: gpu=1
    script: "one.py"
"""
WITH_GPU = """
import json, os, sys, time
from pathlib import Path
came = time.monotonic()
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.step import step
with step(snakemake):
    time.sleep(0.3 if snakemake.wildcards.at != "0" else 3)  # the others come and go beside the first
    about = [came, time.monotonic(), os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
    Path(snakemake.output[0]).write_text(json.dumps(about))
"""


def test_workflow_register_resource_and_scheduler_global_resources_hold_jobs_back(
    tmp_path, monkeypatch
):
    (tmp_path / "bin").mkdir()
    smi = tmp_path / "bin/nvidia-smi"
    smi.write_text(SMI)
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, text in {"Snakefile": ON_GPUS, "one.py": WITH_GPU}.items():
        Path(tmp_path, name).write_text(text.replace("ROOT", repr(str(ROOT))))
    result = snakemake(tmp_path, "--cores", "4")
    assert result.returncode == 0, result.stderr
    jobs = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("[0-9].json"))]
    for came, *_ in jobs:
        beside = [taken for began, ended, taken in jobs if began <= came < ended]
        assert sorted(name for taken in beside for name in taken) in (["0"], ["1"], ["0", "1"])
