"""Trainings on a GPU that is pretended: the CPU's losses and weights, and hardly a wait for the GPU."""

import pytest

from tests.pretended_gpu import found_by

pytestmark = [pytest.mark.slow, pytest.mark.compiler]


@pytest.mark.parametrize(
    ("precision", "packing", "of_losses"),
    [("float32", "stretches", 1e-5), ("bfloat16", "varlen", 0.05)],
)
def test_losses_and_weights_are_those_of_the_cpu(pretended_gpu, precision, packing, of_losses):
    found = found_by("training", precision, environment=pretended_gpu)
    for name, one in found.items():
        assert one["apart"] < of_losses, name
        assert one["ran"]["precision"] == precision, name
        if name != "padded":  # transformers looks at each mask of padded rows
            assert one["ran"]["packing"] == packing, name
            assert one["waits_a_step"] < 0.1, name
