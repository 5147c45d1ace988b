"""What the bridge relies on in Snakemake without Snakemake promising it: a test a name, on small workflows.

What it relies on in a run is in test_snakemake_run_contract.py.
docs/bridge.md says where each name is used, what for, and what would make it unnecessary.
"""

import inspect
import re
from pathlib import Path

import pytest
from snakemake.api import SnakemakeApi
from snakemake.exceptions import ProtectedOutputException
from snakemake.io import _IOFile
from snakemake.jobs import Job
from snakemake.persistence.file import FilePersistence
from snakemake.settings.enums import Quietness
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    OutputSettings,
    ResourceSettings,
    WorkflowSettings,
)
from snakemake.workflow import Workflow

from tests.processes import ROOT
from workflow_scripts.bridge.forced_files import force_where_needed
from workflow_scripts.bridge.metadata import pass_over_damaged_metadata

CHAIN = """
rule all:
    input: "table.txt"

rule record:
    output: "record_{name}.txt"
    log: "logs/{name}.log"
    retries: 2
    threads: 3
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
def workflow_in(here):
    """A workflow as `job_list` has it, before its jobs are looked for."""

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
    assert list(map(str, [job.log[0], *job.output])) == [
        "logs/a.log",
        "record_a.txt",
    ]
    assert Path(job.rule.snakefile).name == "Snakefile"
    assert job.rule.script is None


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


def test_the_document_names_each_of_these_tests_and_no_other():
    document = (ROOT / "docs/bridge.md").read_text()
    files = Path(__file__).parent.glob("test_snakemake_*.py")
    tests = {
        name for path in files for name in re.findall(r"^def test_(\w+)", path.read_text(), re.M)
    }
    tests -= {"the_document_names_each_of_these_tests_and_no_other"}
    rows = [line for line in document.splitlines() if line.count("|") == 6]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[5])}
    assert named == tests


def test_file_persistence_read_record_fails_at_a_flipped_bit_and_ours_names_the_file(
    workflow_in, monkeypatch
):
    workflow, said = workflow_in(), []
    build(workflow)
    persistence = workflow.persistence
    assert isinstance(persistence, FilePersistence)
    theirs = inspect.unwrap(FilePersistence._read_record)  # as it is before any run of this process
    monkeypatch.setattr(FilePersistence, "_read_record", theirs)
    damaged = {"one.txt": b'{"rule": "scor\xe5s"}', "two.txt": b'{"rule": ["scores"]}'}
    notes = [Path(persistence._record_path(persistence._metadata_path, key)) for key in damaged]
    for note, content in zip(notes, damaged.values(), strict=True):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_bytes(content)
    for key in damaged:
        with pytest.raises(ValueError):
            persistence._read_record(key)
    monkeypatch.setattr("workflow_scripts.bridge.metadata.say_error", said.append)
    pass_over_damaged_metadata()
    assert [persistence._read_record(key) for key in (*damaged, *damaged)] == [None] * 4
    for note, sentence in zip(notes, said, strict=True):
        assert str(note) in sentence
