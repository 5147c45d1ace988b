"""The sums behind what jobs ask for, against numbers that one can work out by hand."""

from dataclasses import replace

import pytest

from workflow_scripts.planning.arithmetic import (
    Speed,
    half_peak,
)
from workflow_scripts.planning.memory import (
    Size,
    TrainingWay,
    evaluation_bytes,
    submitted_mb,
    training_bytes,
)

GB = 1e9
FOURTEEN = Size(parameters=14_000_000_000, layers=40, vocabulary=152_000)


def needed(method, tokens, **way) -> int:
    """Of 14 billion parameters in 16 bits."""
    return sum(training_bytes(FOURTEEN, TrainingWay(method, **way), "bfloat16", tokens).values())


SPEED = Speed("bfloat16", operations=1e14, trained_operations=1e14, bandwidth=1e12, layer=0.0)


def test_weights_take_two_bytes_a_parameter_in_bfloat16_and_four_in_float32():
    assert FOURTEEN.weights("bfloat16") == 28 * GB
    assert FOURTEEN.weights("float32") == 56 * GB


def test_full_training_takes_sixteen_bytes_a_parameter_and_adapters_little_beside_the_weights():
    full = needed("full", 1)
    assert full == pytest.approx(14 * 16 * GB, rel=0.001)  # more than two cards of 80 GB
    adapted = needed("lora", 1)
    assert 28 * GB < adapted < 31 * GB
    frozen = needed("freeze", 1, share=0.6)
    assert adapted < frozen < full


def test_an_evaluation_takes_its_weights_and_more_the_more_it_reads_at_once():
    one = evaluation_bytes(FOURTEEN, "bfloat16", batch=1, length=512)
    many = evaluation_bytes(FOURTEEN, "bfloat16", batch=32, length=512)
    assert 28 * GB < one < many < 36 * GB


def test_reading_takes_two_operations_for_each_parameter_and_token():
    # 2 * 14e9 * 1e6 = 2.8e16 operations at 1e14 a second
    assert SPEED.reading(FOURTEEN, 1e6, passes=10) == pytest.approx(280)


def test_training_takes_six_and_four_where_weights_need_no_gradients_and_two_more_calculated_twice():
    small = Size(parameters=1_000_000_000, layers=16, vocabulary=128_256)

    def seconds(method, gpus=1, **way):
        return SPEED.training(small, TrainingWay(method, **way), 1e6, 1, gpus=gpus)

    assert seconds("full") == pytest.approx(60)
    assert seconds("lora") == pytest.approx(40)
    assert seconds("lora", share=0.5) == seconds("freeze", share=0.5) == pytest.approx(50)
    assert seconds("full", gpus=4) == pytest.approx(15)
    assert seconds("full", checkpointed=True) == pytest.approx(80)
    assert seconds("full", distilled=True) == pytest.approx(80), "the teacher reads all once more"


def test_rows_too_short_to_keep_a_gpu_busy_wait_for_the_weights():
    # A pass reads 28e9 bytes forward and as many back, at 1e12 a second; 10 tokens compute for 6 ms.
    seconds = SPEED.training(FOURTEEN, TrainingWay("lora"), tokens=1e4, passes=1e3)
    assert seconds == pytest.approx(1e3 * 2 * 0.028)


def test_generating_reads_all_weights_once_a_token():
    # 28e9 bytes at 1e12 a second
    assert SPEED.generating(FOURTEEN, tokens=100) == pytest.approx(2.8)
    # 1,000 rows of 28e9 operations at 1e14 a second
    batch = SPEED.generating(FOURTEEN, tokens=100, rows=1_000)
    assert batch == pytest.approx(28)


def test_of_a_mixture_of_experts_a_token_passes_through_few_and_a_batch_reads_all():
    mixture = Size(parameters=47_000_000_000, layers=32, vocabulary=32_000, active=13_000_000_000)
    alike = replace(mixture, parameters=mixture.active, active=None)
    assert SPEED.reading(mixture, 1e6, passes=10) == SPEED.reading(alike, 1e6, passes=10)
    assert SPEED.training(mixture, TrainingWay("lora"), 1e6, 10) == pytest.approx(520)
    # One token at a time reads what it passes through, 26e9 bytes; of 1,000 rows some token goes to each expert.
    assert SPEED.generating(mixture, tokens=100) == pytest.approx(2.6)
    few = replace(SPEED, operations=1e18)
    assert few.generating(mixture, tokens=100, rows=1_000) == pytest.approx(9.4)
    assert mixture.weights("bfloat16") == 94 * GB


def test_a_small_model_on_a_gpu_waits_for_its_launches_and_a_processor_does_one_after_another():
    small = Size(parameters=1_000_000, layers=24, vocabulary=2_048)
    slow = replace(SPEED, dtype="float32", operations=1e10, layer=1e-3)
    assert slow.reading(small, 1e4, passes=100) == pytest.approx(2.4)
    processor = replace(slow, is_gpu=False)
    assert processor.reading(small, 1e4, passes=100) == pytest.approx(2 + 2.4)


def test_calculating_twice_saves_the_activations_of_all_layers_but_one():
    once = needed("lora", 10_000)
    twice = needed("lora", 10_000, checkpointed=True)
    spared = 10_000 * FOURTEEN.width * 95 * 39
    assert once - twice == pytest.approx(1.25 * spared, rel=1e-6)  # with a quarter to spare


@pytest.mark.parametrize(
    ("gpu", "teraflops"),
    [
        ("NVIDIA H200", 989),
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA A100-PCIE-40GB", 312),
        ("NVIDIA A40", 149.7),
        ("NVIDIA L40S", 362),
        ("NVIDIA RTX A6000", 154.8),
        ("NVIDIA GeForce RTX 4090", 165),
    ],
)
def test_a_gpu_is_found_in_the_devices_table_by_the_name_that_pytorch_gives_it(gpu, teraflops):
    assert half_peak(gpu) == pytest.approx(teraflops * 1e12)


@pytest.mark.parametrize("gpu", ["NVIDIA A4000", "AMD Instinct MI300X", "NVIDIA GeForce RTX 4080"])
def test_another_gpus_peak_is_not_guessed(gpu):
    assert half_peak(gpu) is None


def test_a_stranger_is_taken_for_twice_its_weights_and_four_bytes_more_in_training():
    assert submitted_mb(1_000_000_000, "bfloat16", trains=False) == 3_000 + 4_000
    assert submitted_mb(1_000_000_000, "float32", trains=True) == 3_000 + 12_000
