"""Numbers that are read together are the same numbers, and what goes wrong is noticed before it is saved."""

from types import SimpleNamespace

import pytest
import torch
from transformers import TrainerControl

from tests.unit.training.small import drawn_samples, losses, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training import reading, watching
from workflow_scripts.training.state import StateFolder
from workflow_scripts.training.trainer import PackedTrainer
from workflow_scripts.training.watching import SaveAndLeave

EVERY = 4
OPTIONS = {"samples": drawn_samples(44), "held_out": drawn_samples(5, seed=1), "save_every": 6}


@pytest.fixture
def read_by_many(monkeypatch):
    monkeypatch.setitem(reading.EVERY, "cpu", EVERY)


def test_the_history_is_the_same(tmp_path, monkeypatch):
    """Eleven steps, an evaluation after five and at the end, a state after six."""
    one_by_one = train_small(tmp_path / "a", evaluate_every=5, **OPTIONS)
    read = []
    real = reading.StepsToRead.read

    def spy(self, accelerator):
        read.append(len(self._steps))
        return real(self, accelerator)

    monkeypatch.setattr(reading.StepsToRead, "read", spy)
    monkeypatch.setitem(reading.EVERY, "cpu", EVERY)
    together = train_small(tmp_path / "b", evaluate_every=5, **OPTIONS)
    assert [steps for steps in read if steps] == [4, 1, 1, 4, 1]
    assert together.history == one_by_one.history
    assert same(together.parameters, one_by_one.parameters)
    assert together.speed["step_seconds"] > 0


def test_processes_agree_on_leaving_without_their_gpus(monkeypatch):
    """A number on a GPU would be there only when the step is done, which nothing else waits for."""
    groups = []

    def another_is_asked(tensor, operation, group):
        assert tensor.device == torch.device("cpu")
        groups.append(group)
        tensor.fill_(1)

    monkeypatch.setattr(torch.distributed, "new_group", lambda *, backend: backend)
    monkeypatch.setattr(torch.distributed, "all_reduce", another_is_asked)
    args = SimpleNamespace(world_size=2, device=torch.device("meta"))
    state = SimpleNamespace(is_world_process_zero=False, global_step=1, max_steps=9)
    control = TrainerControl()
    watcher = SaveAndLeave(None)
    watcher.on_train_begin(args, state, control)
    watcher.on_step_end(args, state, control)
    assert control.should_save and groups == ["gloo"]


def test_a_loss_that_is_no_number_stops_before_the_next_state(tmp_path, read_by_many, monkeypatch):
    real = PackedTrainer.compute_loss

    def compute_loss(self, *arguments, **options):
        loss = real(self, *arguments, **options)
        return loss * float("nan") if self.state.global_step == 4 else loss

    monkeypatch.setattr(PackedTrainer, "compute_loss", compute_loss)
    with pytest.raises(UserError, match="stopped at step 5 of 11: the loss is nan"):
        train_small(tmp_path, **OPTIONS | {"held_out": None})
    assert not list(tmp_path.glob("checkpoint-*")), "the first is of step six"


@pytest.mark.parametrize(("seconds", "saved"), [(0, [1, 2, 3, 4, 5, 6]), (10**6, [6])])
def test_by_the_clock_a_state_is_kept_when_it_is_time_and_at_the_end(
    tmp_path, monkeypatch, seconds, saved
):
    """Where no number of steps is told; the losses are the same."""
    monkeypatch.setattr(watching, "_SECONDS", seconds)
    monkeypatch.setattr(watching, "_TIMES_AS_LONG", 0)
    sealed, seal = [], StateFolder.seal
    monkeypatch.setattr(
        StateFolder, "seal", lambda self, step: sealed.append(step) or seal(self, step)
    )
    by_clock = train_small(tmp_path / "clock", samples=drawn_samples(24), save_every=None)
    assert sealed == saved
    by_steps = train_small(tmp_path / "steps", samples=drawn_samples(24), save_every=4)
    assert sealed[len(saved) :] == [4, 6]
    assert losses(by_clock) == losses(by_steps)
