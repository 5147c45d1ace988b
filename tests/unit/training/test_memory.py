"""When memory runs out: fewer samples at a time, the same samples a step, and the record says so."""

import json

import pytest
import torch

from tests.unit.training.small import drawn_samples, keys_of, losses, model_of, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training import run
from workflow_scripts.training.state import StateFolder

CUDA = "CUDA out of memory. Tried to allocate 2.00 GiB."
CPU = "[enforce fail at alloc_cpu.cpp:116] err == 0. DefaultCPUAllocator: can't allocate memory"


def with_room_for(samples: int, error: Exception, fails=lambda call: True):
    """Loads a model whose forward fails on rows of more samples, in those calls that are told."""
    calls = 0

    def load(dtype):
        model = model_of("llama")
        forward = model.forward

        def small(*args, **kwargs):
            nonlocal calls
            calls += 1
            row = kwargs.get("position_ids")
            if row is not None and fails(calls) and int((row == 0).sum()) > samples:
                raise error
            return forward(*args, **kwargs)

        model.forward = small
        return model

    return load


OPTIONS = {"samples": drawn_samples(24), "batch_size": 8, "schedule": "constant"}


ERRORS = {
    "gpu": torch.OutOfMemoryError(CUDA),
    "gpu, outside of PyTorch": torch.AcceleratorError("CUDA error: out of memory"),
    "gpu, cuBLAS": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
    "cpu": RuntimeError(CPU),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_halved_until_it_fits(tmp_path, capsys, error):
    trained = train_small(tmp_path / "a", "llama", load=with_room_for(2, error), **OPTIONS)
    said = capsys.readouterr().out
    assert "Memory ran out: 4 samples at a time now; a step keeps its samples." in said
    assert "Memory ran out: 2 samples" in said
    assert trained.facts["micro_batch_size"] == 2
    assert trained.facts["steps"] == 3
    # As if it had been so from the start, and nearly as if it had never been.
    small = train_small(
        tmp_path / "b", "llama", load=with_room_for(2, error), micro_batch_size=2, **OPTIONS
    )
    assert same(trained.parameters, small.parameters)
    assert losses(trained) == losses(small)
    large = train_small(tmp_path / "c", "llama", **OPTIONS)
    assert large.facts["micro_batch_size"] == 8
    assert losses(trained)[0] == pytest.approx(losses(large)[0], abs=1e-5)
    assert losses(trained) == pytest.approx(losses(large), abs=1e-2)


def test_it_resumes_from_the_last_state_and_remembers(tmp_path, capsys):
    options = OPTIONS | {"samples": drawn_samples(64), "save_every": 2}
    # Three calls try the model out, and each of five steps is one.
    load = with_room_for(4, torch.OutOfMemoryError(CUDA), fails=lambda call: call >= 8)
    trained = train_small(tmp_path, "llama", load=load, **options)
    assert "Resuming from checkpoint-4." in capsys.readouterr().out
    assert trained.facts["micro_batch_size"] == 4
    assert [entry["step"] for entry in trained.history] == list(range(1, 9))
    assert json.loads((tmp_path / "memory.json").read_text()) == {"micro_batch_size": 4}


@pytest.mark.parametrize(
    ("micro", "keys", "device", "expected"),
    [
        (4, {}, "cuda", {"micro_batch_size": 2}),
        (1, {}, "cuda", {"micro_batch_size": 1, "gradient_checkpointing": True}),
        (1, {}, "cpu", None),
        (1, {"gradient_checkpointing": "no"}, "cuda", None),
        (1, {"gradient_checkpointing": "yes"}, "cuda", None),
    ],
)
def test_what_is_changed_when_memory_ran_out(tmp_path, micro, keys, device, expected):
    state, keys = StateFolder(tmp_path / "state", {}), keys_of(micro_batch_size=micro, **keys)
    error = torch.OutOfMemoryError(CUDA)
    if expected is None:
        with pytest.raises(UserError, match="one sample at a time"):
            run._need_less_memory(keys, state, device, error)
        return
    run._need_less_memory(keys, state, device, error)
    assert state.memory == expected
    assert run._checkpoints_gradients(keys, state) == ("gradient_checkpointing" in expected)


def test_an_odd_share_is_halved_too(tmp_path):
    options = OPTIONS | {"samples": drawn_samples(20), "batch_size": 5}
    load = with_room_for(2, torch.OutOfMemoryError(CUDA))
    trained = train_small(tmp_path / "a", "llama", load=load, **options)
    whole = train_small(tmp_path / "b", "llama", **options)
    assert trained.facts["micro_batch_size"] == 2
    assert trained.facts["steps"] == whole.facts["steps"] == 4
    assert losses(trained) == pytest.approx(losses(whole), abs=1e-2)


def test_one_sample_too_large_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match=r"one sample at a time .* max_length"):
        train_small(tmp_path, load=with_room_for(0, torch.OutOfMemoryError(CUDA)), **OPTIONS)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("shapes differ"),
        torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
    ],
    ids=str,
)
def test_other_errors_are_not_taken_for_it(tmp_path, error):
    with pytest.raises(type(error), match=str(error)):
        train_small(tmp_path, load=with_room_for(2, error), **OPTIONS)
