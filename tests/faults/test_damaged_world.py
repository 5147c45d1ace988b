"""Damage and odd clocks in a finished folder: found, named, and only what is damaged made again."""

import os
import time

import pytest

from tests.faults.outcome import differences
from tests.results import results_of
from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import jobs_of, run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

_MODEL = "resources/hub/models/miniature/Qwen2-0.2M"
_RECORD = "results/records/harmony/direct/miniature--Qwen2-0.2M/mnli"
_DAY = 86_400


def flip_one_bit(path):
    """As a failing disk does: neither size nor time change."""
    times, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_one_bit_in_a_record_and_in_a_model_are_found_and_these_two_made_anew(
    finished_grid, copied
):
    flip_one_bit(copied / f"{_RECORD}.json")
    flip_one_bit(copied / f"{_MODEL}/model.safetensors")
    checked = run_snakemake(copied, "verify_files", *GRID)
    assert checked.returncode == 1
    said = checked.stdout + checked.stderr
    assert f"{_MODEL}/model.safetensors was altered" in said
    assert f"{_RECORD}.json" in said
    assert "Traceback" not in said
    # By itself too, not only among Snakemake's own words about a command that failed.
    assert f"{_MODEL}/model.safetensors was altered" in checked.stdout
    assert "set -euo pipefail" not in checked.stdout
    # Set aside, it is found no more.
    checked = run_snakemake(copied, "verify_files", *GRID)
    assert checked.returncode == 0
    assert "files of the hub" in checked.stdout + checked.stderr
    # Named by name: its tables are there, and nobody asks for it else.
    again = run_snakemake(copied, *TARGETS, f"{_RECORD}.json", *GRID)
    ran = jobs_of(again)
    assert (ran["place_miniature_model"], ran["evaluate_direct"]) == (1, 1)
    # The model came out as it was: what was made of it before is still right, and taken from there.
    log = copied / "logs/train_before_test/miniature--Qwen2-0.2M/tasks.log"
    assert "mnli: finished before, and kept" in log.read_text()
    for aside in ("json", "parquet"):
        (copied / _RECORD).with_name(f".mnli.{aside}.damaged").unlink()
    assert not differences(copied, results_of(finished_grid))


@pytest.mark.parametrize("skew", [-400 * _DAY, _DAY], ids=["past", "future"])
def test_files_of_another_clock_rerun_nothing(copied, skew):
    """A file server whose clock is off, or a hub that was copied with or without its times."""
    then = time.time() + skew
    for path in (copied / "resources").rglob("*"):
        os.utime(path, (then, then))
    result = run_snakemake(copied, *TARGETS, *GRID, "-n")
    assert "Nothing to be done" in result.stdout + result.stderr
