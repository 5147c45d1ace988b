"""What the terminal says of jobs that failed before they wrote a log, by the records that Snakemake logs."""

import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from workflow_scripts.bridge import slurm_refusals
from workflow_scripts.bridge.slurm_offer import JobRequest

SNAKEMAKE = "snakemake.logging"
REFUSED = (
    "SLURM sbatch failed. The error message was '{}'.\n    sbatch call:\n        sbatch --mem 1 -p x\n"
    "For further error details see the cluster/cloud log and the log files of the involved rule(s)."
)
ACCOUNT = (
    "sbatch: error: Batch job submission failed: Invalid account or account/partition combination"
)


class Shown(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture
def terminal(monkeypatch):
    """A terminal that shows what Snakemake's logger logs, filtered; and how a job's error gets there."""
    logger, shown = logging.getLogger(SNAKEMAKE), Shown()
    monkeypatch.setattr(logger, "handlers", [shown])
    monkeypatch.setattr(logger, "propagate", False)
    request = JobRequest("main", 8, 30_000, 180, gpus=1, account="mine")
    monkeypatch.setattr(slurm_refusals, "request_of", lambda *_: request)
    monkeypatch.setattr(slurm_refusals, "job_of", lambda *_: None)
    manager = SimpleNamespace(logger=logger, logfile_handlers={})
    slurm_refusals.tell_refusals(SimpleNamespace(logger_manager=manager), [])

    def error(rule: str, told: str | None, log: list, jobid: int = 1) -> None:
        about = {"rule_name": rule, "rule_msg": told, "jobid": jobid, "log": list(map(str, log))}
        logger.error("Error in rule", extra={"event": LogEvent.JOB_ERROR, **about})

    return shown.texts, error


def test_a_refusal_is_one_sentence_with_slurms_words_what_was_asked_for_and_the_line(terminal):
    texts, error = terminal
    error("evaluate_direct", REFUSED.format(ACCOUNT), ["logs/none.log"])
    assert texts == [
        "Slurm refused a job of evaluate_direct that asked for partition main, account mine, 8 CPUs,"
        " 30,000 MB, 180 minutes, 1 GPU: Invalid account or account/partition combination; look at"
        " slurm_account in default-resources of the profile."
    ]


def test_it_is_said_once_for_the_jobs_of_a_rule_and_once_for_the_tries_of_a_job(terminal):
    texts, error = terminal
    memory = REFUSED.format("sbatch: error: Memory specification can not be satisfied")
    error("evaluate_direct", REFUSED.format(ACCOUNT), ["logs/none.log"], jobid=1)
    error("evaluate_direct", REFUSED.format(ACCOUNT), ["logs/none.log"], jobid=2)
    error("evaluate_direct", memory, ["logs/none.log"], jobid=1)
    assert len(texts) == 1
    error("evaluate_direct", memory, ["logs/none.log"], jobid=3)
    error("train_before_test", REFUSED.format(ACCOUNT), ["logs/none.log"], jobid=4)
    assert len(texts) == 3


def test_an_account_that_the_plugin_refuses_is_said_without_a_traceback(terminal):
    texts, error = terminal
    words = "The given account mine appears to be invalid. Available accounts:\nyours, theirs"
    logging.getLogger(SNAKEMAKE).error(f"Exception in run_job for rule evaluate_direct: {words}")
    error("evaluate_direct", f"Job submission failed with exception: {words}", ["logs/none.log"])
    (sentence,) = texts
    assert "Available accounts:; yours, theirs; look at slurm_account" in sentence


def test_a_job_that_died_before_its_log_shows_slurms_own(terminal, tmp_path):
    texts, error = terminal
    slurms = tmp_path / "12.log"
    slurms.write_text("/var/spool/slurmd/job12/slurm_script: line 4: python: command not found\n")
    error(
        "build_world", "SLURM-job '12' failed, SLURM status is: 'FAILED'.", ["logs/no.log", slurms]
    )
    (sentence,) = texts
    assert sentence.startswith(
        "build_world failed before it wrote logs/no.log: SLURM-job '12' failed"
    )
    assert sentence.endswith("python: command not found")


def test_a_job_with_a_log_is_shown_as_snakemake_shows_it(terminal, tmp_path):
    texts, error = terminal
    log = tmp_path / "job.log"
    log.write_text("The disk is full.\n")
    error("build_world", None, [log])
    assert texts == ["Error in rule"]
