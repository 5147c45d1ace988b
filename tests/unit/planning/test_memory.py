"""Memory of submitted models, and the peaks of cards."""

import pytest

from workflow_scripts.planning.device import half_peak
from workflow_scripts.planning.memory import submitted_mb


def test_a_submitted_model_takes_twice_its_weights_and_four_bytes_more_in_training():
    assert submitted_mb(1_000_000_000, "bfloat16", trains=False) == 3_000 + 4_000
    assert submitted_mb(1_000_000_000, "float32", trains=True) == 3_000 + 12_000


@pytest.mark.parametrize(
    ("gpu", "teraflops"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA A100-PCIE-40GB", 312),
        ("NVIDIA RTX A6000", 154.8),
        ("NVIDIA GeForce RTX 4090", 165),
        ("NVIDIA A4000", None),
        ("AMD Instinct MI300X", None),
    ],
)
def test_the_peak_of_a_gpu_is_found_by_the_name_that_pytorch_gives_it(gpu, teraflops):
    assert half_peak(gpu) == (teraflops and pytest.approx(teraflops * 1e12))
