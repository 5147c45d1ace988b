"""When memory runs out: fewer samples at a time, the same samples a step, and the record says so."""

import pytest
import torch

from tests.unit.training.small import drawn_samples, losses, model_of, same, train_small
from workflow_scripts.core.errors import UserError

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


def test_it_goes_on_from_the_last_state_and_remembers(tmp_path, capsys):
    options = OPTIONS | {"samples": drawn_samples(64), "save_every": 2}
    # Three calls try the model out, and each of five steps is one.
    load = with_room_for(4, torch.OutOfMemoryError(CUDA), fails=lambda call: call >= 8)
    trained = train_small(tmp_path, "llama", load=load, **options)
    assert "Going on from checkpoint-4." in capsys.readouterr().out
    assert trained.facts["micro_batch_size"] == 4
    assert [entry["step"] for entry in trained.history] == list(range(1, 9))
    assert (tmp_path / "micro_batch.json").read_text().strip() == "4"  # for a run after a kill


def test_what_a_second_try_survives_halves_nothing(tmp_path, capsys):
    """Nor does the next one further on; the bytes are those of a training that never ran out."""
    options = OPTIONS | {"samples": drawn_samples(64), "save_every": 2}
    whole = train_small(tmp_path / "whole", "llama", **options)
    # In step 5, and, gone on from step 4 with three calls that try the model out, in step 8.
    load = with_room_for(4, torch.OutOfMemoryError(CUDA), fails=lambda call: call in (8, 15))
    trained = train_small(tmp_path / "a", "llama", load=load, **options)
    said = capsys.readouterr().out
    assert said.count("Memory ran out: once more from the last state.") == 2
    assert "Going on from checkpoint-4." in said and "Going on from checkpoint-6." in said
    assert "samples at a time" not in said and trained.facts["micro_batch_size"] == 8
    assert same(trained.parameters, whole.parameters) and losses(trained) == losses(whole)


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
