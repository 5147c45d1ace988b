"""Seeds, and draws that leave others as they are."""

import pytest
import torch

from workflow_scripts.core.seeds import seed_everything, without_a_trace


@pytest.fixture
def as_asked():
    before = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(before, warn_only=True)


@pytest.mark.usefixtures("as_asked")
def test_deterministic_kernels_are_asked_for_on_a_cpu():
    """A GPU's would slow down what is evaluated in the same process."""
    for device in ("cpu", "cuda", "cpu"):
        seed_everything(7, device)
        assert torch.are_deterministic_algorithms_enabled() is (device == "cpu")


def test_draws_without_a_trace_are_those_of_one_gpu(monkeypatch):
    states = {0: torch.zeros(1), 1: torch.ones(1)}
    asked = []

    def get(device):
        asked.append(device.index)
        return states[device.index].clone()

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_rng_state", get)
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: states.update({device.index: state})
    )
    before = torch.get_rng_state()
    with without_a_trace(torch.device("cuda", 1)):
        torch.rand(3)
        states[1] += 1
    assert asked == [1] and states[1] == 1
    assert torch.equal(torch.get_rng_state(), before)
    with without_a_trace(torch.device("cpu")):
        torch.rand(3)
    assert asked == [1] and torch.equal(torch.get_rng_state(), before)
