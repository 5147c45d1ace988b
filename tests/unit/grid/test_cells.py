"""Test jobs with several cells: a failed cell stops no other cell, and finished cells are not repeated."""

import errno

import pytest
import torch

from tests.records import write_example
from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.failed_cells import (
    clear_failed_cells,
    is_failed_record,
    list_failed_cells,
)
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.score_cache import get_score_cache_path
from workflow_scripts.grid.cells import GridCell, mark_failed, run_cells


@pytest.fixture
def folder(here):
    return here / "results/records/harmony/direct/a--model"


def make_cells(folder, tasks=("mnli", "sst2", "cola"), **cache_key):
    log = folder / "log"
    return [
        GridCell(folder / f"{task}.json", {"task": task, **cache_key}, log, "1") for task in tasks
    ]


class Measure:
    """Write a record for each cell, and raise the errors given by cell name."""

    def __init__(self, **errors):
        self.errors, self.measured = errors, []

    def __call__(self, cell):
        self.measured.append(cell.name)
        if cell.name in self.errors:
            raise self.errors[cell.name]
        write_example(cell.record, task=cell.name)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "mnli.parquet"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        Interrupted("later"),
    ],
    ids=["disk", "memory", "interruption"],
)
def test_hardware_error_fails_job(folder, error):
    """A hardware error fails the job: a failed cell would count as done, and not be retried with more memory."""
    measure = Measure(sst2=error)
    with pytest.raises(type(error)):
        run_cells(make_cells(folder), measure)
    assert measure.measured == ["mnli", "sst2"]
    assert not list_failed_cells() and not (folder / "sst2.json").exists()


def test_failed_cell_stops_no_other(folder):
    run_cells(make_cells(folder), Measure(sst2=UserError("The data are gone.")))
    assert is_failed_record(folder / "sst2.json")
    assert read_items(folder / "sst2.parquet").num_rows == 0, "the job must write all its outputs"
    (failed,) = list_failed_cells()
    assert failed["reason"] == "The data are gone."
    clear_failed_cells()  # as the next run does
    assert not (folder / "sst2.json").exists() and not (folder / "sst2.parquet").exists()
    (folder / "cola.json").unlink()  # as Snakemake does with the outputs of a rerun job
    measure = Measure()
    run_cells(make_cells(folder), measure)
    assert measure.measured == ["sst2"]
    assert read_record(folder / "cola.json").task.name == "cola"


@pytest.mark.parametrize(
    ("name", "cache_key", "measured"),
    [
        (None, {"seed": 1}, ["mnli", "sst2", "cola"]),
        ("1.sst2.json", {}, ["sst2"]),
        ("0.sst2.parquet", {}, ["sst2"]),
    ],
)
def test_changed_cell_is_measured_again(folder, name, cache_key, measured):
    run_cells(make_cells(folder), Measure())
    for path in (folder / "sst2.json", folder / "sst2.parquet"):
        path.unlink()
    if name:
        with (folder / ".finished/sst2" / name).open("ab") as file:
            file.write(b"x")
    measure = Measure()
    run_cells(make_cells(folder, **cache_key), measure)
    assert measure.measured == measured
    assert read_record(folder / "sst2.json").task.name == "sst2"


def test_mark_failed_spares_finished_cell(folder):
    run_cells(make_cells(folder, ["mnli"]), Measure())
    get_score_cache_path(folder / "sst2.json").touch()
    for path in (folder / "mnli.json", folder / "mnli.parquet"):
        path.unlink()  # as Snakemake does when a job is killed
    mark_failed(make_cells(folder))
    assert read_record(folder / "mnli.json").task.name == "mnli"
    assert [failed["record"][-9:] for failed in list_failed_cells()] == ["cola.json", "sst2.json"]
    assert get_score_cache_path(folder / "sst2.json").exists(), "the next run resumes from there"
