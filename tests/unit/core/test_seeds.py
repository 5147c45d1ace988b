"""Seeds, and draws that leave others as they are."""

import pytest
import torch

from workflow_scripts.core.seeds import isolate_rng, seed_everything


@pytest.fixture
def restored():
    before = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(before, warn_only=True)


@pytest.mark.usefixtures("restored")
def test_seed_everything():
    """Deterministic kernels of a GPU would slow down what is evaluated in the same process."""
    for device in ("cpu", "cuda", "cpu"):
        seed_everything(7, device)
        assert torch.are_deterministic_algorithms_enabled() is (device == "cpu")


def test_without_a_trace():
    before = torch.get_rng_state()
    with isolate_rng(torch.device("cpu")):
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
