"""Cells of a job that train in one step: the same records as one by one, and what survives."""

import pytest
import torch

from tests.unit.grid.test_base import DATASETS, SMALL, TASKS, asked_of
from workflow_scripts.core.broken import is_broken
from workflow_scripts.core.errors import Interrupted
from workflow_scripts.core.records import read_record, whole_record
from workflow_scripts.grid import together as module
from workflow_scripts.grid.job import run_job
from workflow_scripts.grid.train_before_test import put_test, train_before_test
from workflow_scripts.training.together.stack import WithAdapters

ASKED = asked_of(*TASKS).model_copy(update={"together": "auto", "seeds": (0, 1)})


@pytest.fixture
def run(world, model_manifest, tmp_path):
    datasets = [world / f"datasets/{name}/manifest.json" for name in DATASETS.values()]

    def job(asked=ASKED, folder="records", version="1"):
        records = {name: tmp_path / folder / f"{name}.json" for name in asked.cells()}
        log = tmp_path / "log"
        run_job(model_manifest, datasets, list(records.values()), log, asked, version=version)
        return records

    return job


def test_the_same_scores_and_states_as_one_by_one(world, model_manifest, tmp_path, run):
    """With two seeds and two rates; what differs is that the record says so, and the order of sums."""
    recipe = SMALL.model_copy(update={"learning_rates": (1e-3, 5e-3)})
    asked = ASKED.model_copy(update={"recipe": recipe})
    for name, record in run(asked).items():
        shared = whole_record(record)
        one = asked.cells()[name].model_copy(update={"together": 1})
        single = train_before_test(model_manifest, world, tmp_path / f"alone/{name}.json", one)
        assert shared.training.together == 8 and single.training.together is None
        assert shared.training.selected == single.training.selected
        assert shared.training.tokens == single.training.tokens
        assert shared.training.evaluations == single.training.evaluations
        assert shared.metrics == single.metrics
    hidden = {path.name for path in record.parent.glob(".*")}
    assert hidden == {".finished"}, "of a job that is done no state stays"


def test_a_record_is_there_when_its_training_has_ended_and_not_when_the_last_has(
    run, monkeypatch, tmp_path
):
    real, tested = module.put_test, []

    def leaves(prepared, candidates):
        if tested:
            raise Interrupted("later")
        tested.append(prepared.record)
        return real(prepared, candidates)

    with monkeypatch.context() as patch:
        patch.setattr(module, "put_test", leaves)
        with pytest.raises(Interrupted):
            run()
    (done,) = tested
    first = done.read_bytes()
    expected = run(folder="undisturbed")
    for name, record in run().items():
        assert whole_record(record).metrics == whole_record(expected[name]).metrics
        assert whole_record(record).training == whole_record(expected[name]).training
    assert done.read_bytes() == first, "kept, not made again"


def test_a_raised_version_goes_on_from_no_state_of_trainings_that_share_steps(run, monkeypatch):
    found = []

    def left(hub, known, requests, base, state):
        found.append(state.exists())
        state.mkdir(exist_ok=True)
        raise Interrupted("later")

    monkeypatch.setattr(module, "_train_together", left)
    for version in ("1", "1", "2"):
        with pytest.raises(Interrupted):
            run(version=version)
    assert found == [False, True, False]


def test_a_broken_cell_is_that_cell_s_alone(run, monkeypatch):
    def no_samples(splits, *arguments):
        if splits.test.config.task == "sst2":
            raise ValueError("no such column")
        return real(splits, *arguments)

    from workflow_scripts.grid import train_before_test as cells

    real = cells._samples
    monkeypatch.setattr(cells, "_samples", no_samples)
    records = run()
    assert [name for name, record in records.items() if is_broken(record)] == [
        "sst2",
        "sst2.seed-1",
    ]
    assert read_record(records["openbookqa"]).training.together == 2


def test_a_model_that_draws_itself_is_trained_one_by_one(run, monkeypatch, capsys):
    monkeypatch.setattr(module, "train_together", lambda *arguments, **options: None)
    for record in run().values():
        assert whole_record(record).training.together is None
    assert "one task at a time" in capsys.readouterr().out


def test_trainings_that_memory_keeps_from_sharing_go_on_one_by_one(run, monkeypatch, capsys):
    expected = run(folder="shared")
    ended, forward = [], WithAdapters.forward

    def without_room(self, x):
        if ended and torch.is_grad_enabled():
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return forward(self, x)

    def end(prepared, candidates):
        ended.append(prepared.record.stem)
        return put_test(prepared, candidates)

    monkeypatch.setattr(WithAdapters, "forward", without_room)
    monkeypatch.setattr(module, "put_test", end)
    run(ASKED.model_copy(update={"together": 2}), folder="alone")
    monkeypatch.undo()
    assert "The rest is trained one task at a time: memory ran out" in capsys.readouterr().out
    records = {
        name: whole_record(record.parents[1] / "alone" / record.name)
        for name, record in expected.items()
    }
    assert {name for name, one in records.items() if one.training.together} == set(ended)
    assert 0 < len(ended) < len(records)
    for name, one in records.items():
        assert one.metrics == whole_record(expected[name]).metrics
    assert {path.name for path in expected[name].parents[1].glob("alone/.*")} == {".finished"}


def test_full_fine_tuning_is_one_by_one(run, monkeypatch):
    monkeypatch.delattr(module, "train_together")
    recipe = SMALL.model_copy(update={"method": "full"})
    asked = ASKED.model_copy(update={"recipe": recipe, "seeds": (0,)})
    assert all(whole_record(record).training.together is None for record in run(asked).values())
