"""A job of several cells: broken ones stop nobody, finished ones are not done again."""

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
from workflow_scripts.core.hardware_errors import describe_hardware_error
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.score_cache import score_cache_path
from workflow_scripts.grid.cells import GridCell, mark_failed, run_cells


@pytest.fixture
def folder(here):
    return here / "results/records/harmony/direct/a--model"


def cells(folder, tasks=("mnli", "sst2", "cola"), version="1", **decides):
    log = folder / "log"
    return [
        GridCell(folder / f"{task}.json", {"task": task, **decides}, log, version) for task in tasks
    ]


class Measure:
    """Writes a record for each cell, and fails where told to."""

    def __init__(self, **fails):
        self.fails, self.measured = fails, []

    def __call__(self, cell):
        self.measured.append(cell.name)
        if error := self.fails.get(cell.name):
            raise error
        write_example(cell.record, task=cell.name)


def test_a_broken_cell_stops_no_other_and_says_why(folder):
    run_cells(cells(folder), Measure(sst2=UserError("The data are gone.")))
    assert read_record(folder / "mnli.json").task.name == "mnli"
    assert read_record(folder / "cola.json").task.name == "cola"
    assert is_failed_record(folder / "sst2.json")
    assert read_items(folder / "sst2.parquet").num_rows == 0, "declared, so it must be there"
    (broken,) = list_failed_cells()
    assert broken["reason"] == "The data are gone."
    assert broken["record"].endswith("a--model/sst2.json")


MISFORTUNES = {
    "disk": OSError(errno.ENOSPC, "No space left on device", "mnli.parquet"),
    "disk, as a library says it": RuntimeError(
        'Os { code: 28, message: "No space left on device" }'
    ),
    "GPU memory": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    "GPU": torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
    "mount": OSError(errno.ENOTCONN, "Transport endpoint is not connected"),
}


@pytest.mark.parametrize("error", MISFORTUNES.values(), ids=MISFORTUNES)
def test_what_the_machine_is_to_blame_for_fails_the_job_and_breaks_no_cell(folder, error):
    """A broken cell would count as done: nobody would ask for more memory, and try again."""
    with pytest.raises(type(error)):
        run_cells(cells(folder), Measure(sst2=error))
    assert not list_failed_cells()
    assert not (folder / "sst2.json").exists()
    assert describe_hardware_error(error)


def test_the_next_run_tries_the_broken_cell_again_and_no_other(folder):
    run_cells(cells(folder), Measure(sst2=ValueError("once")))
    clear_failed_cells()
    assert not (folder / "sst2.json").exists()
    assert not (folder / "sst2.parquet").exists()
    assert not list_failed_cells()
    for path in (folder / "mnli.json", folder / "mnli.parquet", folder / "cola.json"):
        path.unlink()  # as Snakemake does with what a job is to make again
    measure = Measure()
    run_cells(cells(folder), measure)
    assert measure.measured == ["sst2"]
    for task in ("mnli", "sst2", "cola"):
        assert read_record(folder / f"{task}.json").task.name == task


def test_what_decides_a_cell_must_be_the_same(folder):
    run_cells(cells(folder, seed=0), Measure())
    measure = Measure()
    run_cells(cells(folder, seed=1), measure)
    assert measure.measured == ["mnli", "sst2", "cola"]


@pytest.mark.parametrize("name", ["1.sst2.json", "0.sst2.parquet"])
def test_what_was_kept_and_altered_is_measured_again(folder, name):
    run_cells(cells(folder), Measure())
    for path in (folder / "sst2.json", folder / "sst2.parquet"):
        path.unlink()
    with (folder / ".finished/sst2" / name).open("ab") as file:
        file.write(b"x")
    measure = Measure()
    run_cells(cells(folder), measure)
    assert measure.measured == ["sst2"]
    assert read_record(folder / "sst2.json").task.name == "sst2"


def test_being_asked_to_leave_is_no_breakage(folder):
    measure = Measure(sst2=Interrupted("later"))
    with pytest.raises(Interrupted):
        run_cells(cells(folder), measure)
    assert not list_failed_cells()
    assert not (folder / "sst2.json").exists()
    assert measure.measured == ["mnli", "sst2"]


def test_what_was_killed_in_every_try_is_given_up_and_what_was_finished_is_not(folder):
    run_cells(cells(folder, ["mnli"]), Measure())
    score_cache_path(folder / "sst2.json").touch()
    for path in (folder / "mnli.json", folder / "mnli.parquet"):
        path.unlink()  # as Snakemake does when a job is killed
    mark_failed(cells(folder))
    assert read_record(folder / "mnli.json").task.name == "mnli"
    assert [broken["record"][-9:] for broken in list_failed_cells()] == ["cola.json", "sst2.json"]
    assert "Killed on every attempt" in list_failed_cells()[0]["reason"]
    assert score_cache_path(folder / "sst2.json").exists(), "the next run resumes from there"
