"""A loss that is no number, or explodes, ends the training at that step, with the last good state kept."""

import pytest
import torch

from tests.unit.training.small import drawn_samples, model_of, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.state import is_sealed
from workflow_scripts.training.trainer import PackedTrainer


@pytest.fixture
def spoil(monkeypatch):
    """From a step on, let what the loss is be changed."""

    def spoil_from(step, change):
        real = PackedTrainer.compute_loss

        def compute_loss(self, *args, **kwargs):
            loss = real(self, *args, **kwargs)
            return change(loss) if step <= self.state.global_step + 1 else loss

        monkeypatch.setattr(PackedTrainer, "compute_loss", compute_loss)

    return spoil_from


def wrong_gradient(loss):
    loss.register_hook(lambda gradient: gradient * float("inf"))
    return loss


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda loss: loss * float("nan"), "step 8 of 10: the loss is nan."),
        (lambda loss: loss * float("inf"), "step 8 of 10: the loss is inf."),
        (wrong_gradient, "step 8 of 10: the gradient's norm is nan."),
    ],
    ids=["nan", "inf", "gradient"],
)
def test_no_number(tmp_path, monkeypatch, spoil, change, said):
    samples = drawn_samples(40)
    with monkeypatch.context() as undisturbed:
        expected = train_small(tmp_path / "a", samples=samples)
        undisturbed.undo()
    spoil(8, change)
    with pytest.raises(UserError) as raised:
        train_small(tmp_path / "b", samples=samples)
    assert said in str(raised.value)
    assert "The last good state is kept. A lower learning_rate" in str(raised.value)
    saved = sorted((tmp_path / "b").glob("checkpoint-*"))
    assert [folder.name for folder in saved] == ["checkpoint-3", "checkpoint-6"]
    assert all(is_sealed(folder) for folder in saved)
    monkeypatch.undo()
    assert same(train_small(tmp_path / "b", samples=samples).parameters, expected.parameters)


def test_exploding(tmp_path, spoil):
    spoil(7, lambda loss: loss * 0 + 40.0)
    with pytest.raises(UserError) as raised:
        train_small(tmp_path, samples=drawn_samples(80))
    assert "of 20: the loss was " in str(raised.value)
    assert "half as much again as that of the start or of a uniform prediction" in str(raised.value)


def test_exploding_is_noticed_across_a_resumption(tmp_path, spoil, monkeypatch):
    """What was lost before counts for the mean of the last steps."""
    spoil(5, lambda loss: loss * 0 + 20.0)
    samples = drawn_samples(80)
    with pytest.raises(UserError) as first:
        train_small(tmp_path / "a", samples=samples, save_every=1)
    before = len(list((tmp_path / "a").glob("checkpoint-*")))
    with pytest.raises(UserError) as again:  # from the state just before the end
        train_small(tmp_path / "a", samples=samples, save_every=1)
    assert str(first.value) == str(again.value)
    assert before == 2


def test_a_model_that_starts_bad_may_get_better(tmp_path):
    """Weights of chunks that nobody has trained start far above a uniform prediction."""

    def load(dtype):
        model = model_of("qwen2")
        with torch.no_grad():
            model.lm_head.weight.mul_(10)
        return model

    trained = train_small(tmp_path, load=load, samples=drawn_samples(60))
    assert trained.history[0]["loss"] > 10
