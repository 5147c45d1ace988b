"""What the bridge relies on to end a run, and to say what the terminal shows, without Snakemake promising it."""

import json
from pathlib import Path

import pytest

from tests.processes import snakemake

SNAKEFILE = """
import json, logging, signal
from pathlib import Path
from snakemake.shell import shell

onstart:
    shell.prefix("trap '' INT; ")
    manager = workflow.logger_manager
    logger = logging.getLogger("snakemake.logging")
    logger.info("Said by its logger.")
    about = {
        "sigterm": signal.getsignal(signal.SIGTERM).__name__,
        "its logger": manager.logger is logger,
        "handlers": [type(one).__name__ for one in logger.handlers],
        "of files": [type(one).__name__ for one in manager.logfile_handlers],
        "locks": len(list(Path(".snakemake/locks").iterdir())),
    }
    workflow.persistence.unlock()
    about["unlocked"] = not Path(".snakemake/locks").exists()
    Path("about.json").write_text(json.dumps(about))
    if config.get("stop"):
        manager.stop()
        print("after the logger's end", flush=True)
        raise KeyboardInterrupt

rule made:
    output: "made.json"
    script: "made.py"
"""
MADE = """
import json, signal
from pathlib import Path
ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
Path(snakemake.output[0]).write_text(json.dumps(ignored))
"""


def run(folder: Path, *arguments: str):
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "made.py").write_text(MADE)
    return snakemake(folder, "--logger", "rich", *arguments)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ending")
    result = run(folder)
    assert result.returncode == 0, result.stderr
    return folder, result.stderr, json.loads((folder / "about.json").read_text())


def test_the_scheduler_answers_sigterm_before_onstart_and_can_be_replaced(ran):
    assert ran[2]["sigterm"] == "exit_gracefully"


def test_logger_manager_tells_the_terminals_handlers_from_those_of_files(ran):
    about = ran[2]
    assert about["its logger"]
    assert (about["handlers"], about["of files"]) == (
        ["QueueHandler", "FileHandler"],
        ["FileHandler"],
    )


def test_what_is_said_by_snakemake_logging_is_shown_and_kept(ran):
    folder, shown, _ = ran
    assert "Said by its logger." in shown
    (log,) = (folder / ".snakemake/log").glob("*.log")
    assert "Said by its logger." in log.read_text()


def test_persistence_unlock_gives_the_lock_back(ran):
    assert ran[2]["locks"] > 0
    assert ran[2]["unlocked"]


def test_shell_prefix_is_before_the_command_of_a_script_too(ran):
    assert json.loads((ran[0] / "made.json").read_text()) is True


def test_logger_manager_stop_shows_all_that_was_said(tmp_path):
    result = run(tmp_path, "--config", "stop=1")
    assert "Said by its logger." in result.stderr
    assert "after the logger's end" in result.stdout
