"""What is cleared away before rules are read, and what is not while another run needs it."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.processes import ROOT
from workflow_scripts.bridge import opening, run_lock
from workflow_scripts.core.broken import broken_cells, note_of

HOLDER = """
import time
from pathlib import Path
from workflow_scripts.bridge.run_lock import hold_run_lock
hold_run_lock(Path(".snakemake"))
print("holding", flush=True)
time.sleep(600)
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A cell that broke in this folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_lock, "_held", [])
    monkeypatch.setattr(opening, "end_quietly_before_the_first_job", lambda: None)
    record = tmp_path / "results/records/harmony/direct/m/sst2.json"
    for path, said in ((record, {"broken": {}}), (note_of(record), {"record": str(record)})):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(said))
    return record


def begin(dry: bool = False) -> None:
    dryrun = SimpleNamespace(dryrun=dry)
    opening.before_parsing(SimpleNamespace(is_main_process=True, output_settings=dryrun))


def test_broken_cells_stay_for_the_tables_of_a_run_that_is_alive_and_go_with_the_next(broken):
    (broken.parents[5] / ".snakemake").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        try:
            assert run.stdout.readline() == "holding\n"
            begin()
            assert broken.exists() and broken_cells()
        finally:
            run.kill()
    begin()
    assert not broken.exists() and not broken_cells()


def test_a_dry_run_clears_nothing(broken):
    begin(dry=True)
    assert broken.exists() and broken_cells()


def test_a_second_run_in_the_folder_of_one_that_is_alive_ends_before_its_first_job(
    broken, monkeypatch
):
    """Snakemake itself lets in what shares no file with that one."""
    monkeypatch.setattr(opening, "hold_run_lock", lambda state: False)
    monkeypatch.setattr(opening, "targets_of", lambda workflow: ["products"])
    monkeypatch.setattr(opening, "submits_to_slurm", lambda workflow: False)
    monkeypatch.setattr(opening, "takes_lock", lambda workflow: True)
    with pytest.raises(SystemExit, match="Another run is at work in this folder"):
        opening.before_the_first_job(SimpleNamespace(), {}, threads=1)
