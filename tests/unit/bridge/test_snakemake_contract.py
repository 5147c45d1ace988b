"""What the bridge relies on in Snakemake without Snakemake promising it: a test a name, on small workflows.

docs/bridge.md says where each name is used, what for, and what would make it unnecessary.
"""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.api import SnakemakeApi
from snakemake.exceptions import ProtectedOutputException
from snakemake.io import _IOFile
from snakemake.jobs import Job
from snakemake.settings.enums import Quietness
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    OutputSettings,
    ResourceSettings,
    WorkflowSettings,
)
from snakemake.workflow import Workflow

from workflow_scripts.bridge import snakemake_settings
from workflow_scripts.bridge.draw_dag import collapsed
from workflow_scripts.bridge.forced_files import force_where_needed

CHAIN = """
rule all:
    input: "table.txt"

rule record:
    output: "record_{name}.txt"
    log: "logs/{name}.log"
    benchmark: "benchmarks/{name}.tsv"
    retries: 2
    threads: 3
    params: table="studies.a"
    shell: "echo {wildcards.name} > {output}"

rule scores:
    input: "record_a.txt"
    output: "scores.txt"
    shell: "cp {input} {output}"

rule table:
    input: "scores.txt"
    output: "table.txt"
    shell: "cp {input} {output}"

rule other:
    output: "other.txt"
    shell: "touch {output}"
"""


@pytest.fixture
def workflow_in(tmp_path, monkeypatch):
    """A workflow as `job_list` has it, before its jobs are looked for."""
    monkeypatch.chdir(tmp_path)

    def make(snakefile: str = CHAIN, **dag) -> Workflow:
        Path("Snakefile").write_text(snakefile)
        quiet = OutputSettings(dryrun=True, quiet={Quietness.ALL}, enable_file_logging=False)
        with SnakemakeApi(quiet) as api:
            workflow_api = api.workflow(
                resource_settings=ResourceSettings(cores=4),
                config_settings=ConfigSettings(),
                workflow_settings=WorkflowSettings(),
                snakefile=Path("Snakefile"),
            )
            return workflow_api.dag(DAGSettings(**dag)).workflow_api._workflow

    return make


def prepare(workflow: Workflow) -> None:
    workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=False, nolock=True)


def build(workflow: Workflow) -> Workflow:
    prepare(workflow)
    workflow._build_dag()
    return workflow


def needed(workflow: Workflow) -> set[str]:
    return {job.rule.name for job in workflow.dag.needrun_jobs()}


def everything_is_there() -> None:
    for name in ("record_a.txt", "scores.txt", "table.txt"):
        Path(name).touch()


# ---- the list of jobs ----


def test_workflow_prepare_dag_and_build_dag_find_the_jobs_without_a_lock(workflow_in):
    workflow = build(workflow_in())
    assert needed(workflow) == {"record", "scores", "table", "all"}
    assert not list(Path(".snakemake/locks").glob("*"))


def test_workflow_prepare_dag_takes_these_arguments():
    assert {"forceall", "ignore_incomplete", "lock_warn_only", "nolock"} <= set(
        inspect.signature(Workflow._prepare_dag).parameters
    )


def test_dag_needrun_jobs_and_needrun_tell_what_is_done(workflow_in):
    Path("record_a.txt").touch()
    dag = build(workflow_in()).dag
    assert {job.rule.name for job in dag.jobs if not dag.needrun(job)} == {"record"}


def test_dag_toposorted_puts_each_job_behind_its_dag_dependencies(workflow_in):
    dag = build(workflow_in()).dag
    place = {job: at for at, level in enumerate(dag.toposorted()) for job in level}
    assert [job.rule.name for job in sorted(place, key=place.get)] == [
        "record",
        "scores",
        "table",
        "all",
    ]
    for job, at in place.items():
        assert all(place[other] < at for other in dag.dependencies[job])


def job_of(workflow: Workflow, rule: str) -> Job:
    (job,) = (job for job in workflow.dag.jobs if job.rule.name == rule)
    return job


def test_job_has_its_wildcards_threads_files_and_rule(workflow_in):
    workflow = build(workflow_in())
    job = job_of(workflow, "record")
    assert (job.wildcards_dict, job.wildcards["name"]) == ({"name": "a"}, "a")
    assert job.threads == 3
    assert list(map(str, [job.log[0], job.benchmark, *job.output])) == [
        "logs/a.log",
        "benchmarks/a.tsv",
        "record_a.txt",
    ]
    assert Path(job.rule.snakefile).name == "Snakefile"
    assert job.rule.script is None
    assert job.rule.params.get("table") == "studies.a"
    assert job_of(workflow, "scores").rule.params.get("table") is None


def test_rule_restart_times_are_those_of_the_rule(workflow_in):
    workflow = build(workflow_in())
    assert job_of(workflow, "record").rule._restart_times == 2
    assert not job_of(workflow, "scores").rule._restart_times


AS_IF = """
COUNTED = False

checkpoint check:
    output: "checked.txt"
    shell: "touch {output}"

def inputs(wildcards):
    return ["more.txt"] if COUNTED else checkpoints.check.get().output

rule more:
    output: "more.txt"
    shell: "touch {output}"

rule last:
    default_target: True
    input: inputs
    output: "last.txt"
    shell: "touch {output}"
"""


def test_workflow_globals_are_those_of_the_snakefile_and_can_be_set_before_it_plans_again(
    workflow_in,
):
    workflow = build(workflow_in(AS_IF))
    assert needed(workflow) == {"check", "last"}
    workflow.globals["COUNTED"] = True
    assert needed(build(workflow)) == {"more", "last"}


# ---- files that are forced ----


def test_a_lost_input_is_no_reason_of_its_own_or_forced_files_could_go(workflow_in):
    everything_is_there()
    Path("record_a.txt").unlink()
    assert not needed(build(workflow_in()))


def test_dag_forcefiles_have_a_file_made_again_where_a_target_needs_it(workflow_in):
    everything_is_there()
    Path("record_a.txt").unlink()
    workflow = workflow_in()
    force_where_needed(workflow, lambda: ["scores.txt"])
    assert needed(build(workflow)) == {"record", "scores", "table", "all"}


def test_dag_forcefiles_make_no_target_as_forcerun_does(workflow_in):
    everything_is_there()
    asked = {"targets": frozenset(["table.txt"])}
    workflow = workflow_in(**asked)
    force_where_needed(workflow, lambda: ["other.txt"])
    assert not needed(build(workflow))
    assert needed(build(workflow_in(**asked, forcerun=frozenset(["other.txt"])))) == {"other"}


# ---- write protection ----


def test_job_check_protected_output_asks_io_file_protected_of_each_output(workflow_in, monkeypatch):
    async def always(file) -> bool:
        return True

    monkeypatch.setattr(_IOFile, "protected", always)
    workflow = build(workflow_in())
    with pytest.raises(ProtectedOutputException):
        workflow.async_run(job_of(workflow, "record").check_protected_output())


def test_job_check_protected_output_is_asked_while_a_plan_knows_a_finished_checkpoint(
    workflow_in, monkeypatch
):
    asked = []

    async def unchecked(job) -> None:
        asked.append(job.rule.name)

    monkeypatch.setattr(Job, "check_protected_output", unchecked)
    workflow = workflow_in(AS_IF)
    Path("checked.txt").touch()
    build(workflow)
    assert asked == ["last"]


def test_io_file_has_its_path_in_file():
    assert "file" in dir(_IOFile)
    assert inspect.iscoroutinefunction(_IOFile.protected)


# ---- what a run is told, and what it does: in a process of its own ----

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
from pathlib import Path
about = [snakemake.rule, snakemake.log[0], snakemake.threads, snakemake.params.compute_threads]
Path(snakemake.output[0]).write_text(json.dumps([*about, snakemake.scriptdir]))
"""


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def put_telling(folder: Path) -> None:
    root = str(Path(__file__).parents[3])
    (folder / "Snakefile").write_text(TELLING.replace("ROOT", repr(root)))
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


def test_dag_settings_targets_are_empty_for_the_default_target_and_nolock_locks_nothing(tmp_path):
    put_telling(tmp_path)
    assert snakemake(tmp_path, "--nolock").returncode == 0
    started = json.loads((tmp_path / "started.json").read_text())
    assert started == {"targets": [], "lock": False, "locked": 0}


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


def test_the_slurm_plugin_comments_its_jobs_with_their_rule():
    import snakemake_executor_plugin_slurm as plugin

    assert 'f"rule_{' in inspect.getsource(plugin)


def test_every_private_name_of_the_settings_is_tested_here():
    text = Path(__file__).read_text()
    for name, function in inspect.getmembers(snakemake_settings, inspect.isfunction):
        assert f"told.{name}(" in text, f"{function.__name__} has no contract"
