"""When memory runs out: fewer samples at a time, the same samples a step, and the record says so."""

import pytest
import torch

from tests.unit.training.small import drawn_samples, keys_of, losses, model_of, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.run import checkpoints_gradients, reduce_memory
from workflow_scripts.training.state import StateFolder

CUDA = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
OPTIONS = {"samples": drawn_samples(24), "batch_size": 8, "schedule": "constant"}


def limit_samples(limit: int, error: Exception, first_call: int = 0):
    """Load a model whose forward fails on rows of more samples, from a call on."""
    calls = 0

    def load(dtype):
        model = model_of("llama")
        forward = model.forward

        def limited(*args, **kwargs):
            nonlocal calls
            calls += 1
            row = kwargs.get("position_ids")
            if row is not None and calls >= first_call and int((row == 0).sum()) > limit:
                raise error
            return forward(*args, **kwargs)

        model.forward = limited
        return model

    return load


def test_micro_batch_is_halved_until_it_fits(tmp_path):
    cpu = RuntimeError(
        "[enforce fail at alloc_cpu.cpp:116] DefaultCPUAllocator: can't allocate memory"
    )
    trained = train_small(tmp_path / "a", "llama", load=limit_samples(2, cpu), **OPTIONS)
    assert (trained.facts["micro_batch_size"], trained.facts["steps"]) == (2, 3)
    # As if it had been so from the start, and nearly as if it had never been.
    small = train_small(tmp_path / "b", "llama", micro_batch_size=2, **OPTIONS)
    assert same(trained.parameters, small.parameters) and losses(trained) == losses(small)
    large = train_small(tmp_path / "c", "llama", **OPTIONS)
    assert large.facts["micro_batch_size"] == 8
    assert losses(trained) == pytest.approx(losses(large), abs=1e-2)


def test_resumes_from_the_last_state(tmp_path, capsys):
    options = OPTIONS | {"samples": drawn_samples(64), "save_every": 2}
    # Three calls try the model out, and each of five steps is one.
    trained = train_small(tmp_path, "llama", load=limit_samples(4, CUDA, 8), **options)
    assert "Resuming from checkpoint-4." in capsys.readouterr().out
    assert trained.facts["micro_batch_size"] == 4
    assert [entry["step"] for entry in trained.history] == list(range(1, 9))


@pytest.mark.parametrize(
    ("micro", "checkpointing", "device", "expected"),
    [(4, "auto", "cuda", 2), (1, "auto", "cuda", 1), (1, "auto", "cpu", None), (1, "yes", "cuda", None)],
)  # fmt: skip
def test_gradients_are_checkpointed_after_one_sample(
    tmp_path, micro, checkpointing, device, expected
):
    state = StateFolder(tmp_path / "state", {})
    keys = keys_of(micro_batch_size=micro, gradient_checkpointing=checkpointing)
    if expected is None:
        with pytest.raises(UserError, match="one sample at a time"):
            reduce_memory(keys, state, device, CUDA)
        return
    reduce_memory(keys, state, device, CUDA)
    assert state.memory["micro_batch_size"] == expected
    assert checkpoints_gradients(keys, state) == (micro == 1)
