"""What the bridge relies on in the Slurm plugin, and in what Snakemake says of jobs that it submitted."""

import inspect
import json
import logging
from pathlib import Path

import snakemake_executor_plugin_slurm as plugin
from snakemake.iocontainers import ResourceList as Resources
from snakemake.jobs import Job
from snakemake_executor_plugin_slurm import Executor, ExecutorSettings
from snakemake_executor_plugin_slurm.submit_string import get_submit_command
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_logger_plugins.common import LogEvent

from tests.processes import snakemake

SNAKEFILE = """
import json
import sys
from pathlib import Path

onstart:
    (job,) = (one for one in workflow.dag.needrun_jobs() if one.rule.name == "made")
    about = {
        "executor": workflow.executor_plugin.name,
        "scheduler": hasattr(workflow.scheduler, "_executor"),
        "resources": [job.resources.get("mem_mb"), job.resources.get("runtime"), job.threads],
        "local": job.is_local,
        "number": workflow.dag.jobid(job),
    }
    Path("about.json").write_text(json.dumps(about))
    print("nothing is run")
    sys.exit(0)

rule made:
    output: "made.txt"
    resources: mem_mb=2000, runtime="1h"
    shell: "touch {output}"
"""


def test_the_slurm_plugin_comments_its_jobs_with_their_rule():
    assert 'f"rule_{' in inspect.getsource(plugin)


def test_executor_settings_no_account_does_not_keep_the_plugin_from_guessing():
    assert "no_account" in inspect.signature(ExecutorSettings).parameters
    used = inspect.getsource(Executor)
    assert "no_account" not in used, "then guess_no_account can go"
    assert "if self._fallback_account_arg is None:" in used


def test_executor_get_partition_arg_is_an_option_of_sbatch():
    assert list(inspect.signature(Executor.get_partition_arg).parameters) == ["self", "job"]
    assert 'return f" -p {' in inspect.getsource(Executor.get_partition_arg)


def test_a_refused_submission_is_told_in_these_words():
    told = inspect.getsource(Executor.run_job)
    assert '"SLURM sbatch failed. "' in told
    assert "f\"The error message was '{e.output.strip()}'.\\n\"" in told
    assert 'f"Exception in run_job for rule {' in told
    assert 'f"Job submission failed with exception: {e}"' in told
    assert '"For further error details see the cluster/cloud "' in inspect.getsource(
        RemoteExecutor.print_job_error
    )


def test_executor_run_job_submits_a_job_and_reads_its_resources_slurm_extra_then():
    assert "submit(self.run_job, job)" in inspect.getsource(Executor._submit_job)
    told = inspect.getsource(get_submit_command)
    # Of two options --exclude the last counts.
    assert told.index("--exclude=") < told.index("job.resources.slurm_extra")
    assert "failed_nodes=self._failed_nodes" in inspect.getsource(Executor.run_job)
    resources = Resources(fromdict={"mem_mb": 1})
    resources.slurm_extra = "--exclude=a"
    assert resources.get("slurm_extra") == "--exclude=a"


def test_a_jobs_error_is_logged_with_its_rule_number_logs_and_what_was_told():
    made = inspect.getsource(Job.get_log_error_info)
    for name in ("rule_name", "rule_msg", "jobid", "log", "event"):
        assert f"{name}=" in made
    assert "event=LogEvent.JOB_ERROR" in made
    record = logging.makeLogRecord({"event": LogEvent.JOB_ERROR})
    assert record.event == LogEvent.JOB_ERROR


def test_an_exit_without_an_error_in_onstart_runs_nothing_and_says_so_by_its_code(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    result = snakemake(tmp_path)
    assert result.returncode == 0, result.stderr
    assert "nothing is run" in result.stdout
    assert not (tmp_path / "made.txt").exists()
    assert not list(tmp_path.glob(".snakemake/locks/*"))
    about = json.loads(Path(tmp_path, "about.json").read_text())
    assert about == {
        "executor": "local",
        "scheduler": True,
        "resources": [2000, 60, 1],
        "local": True,
        "number": 0,
    }
