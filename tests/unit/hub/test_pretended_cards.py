"""On GPUs that are pretended: several of them, none, one that dies, and one whose memory others have for a while."""

import os
import subprocess
import sys

import pytest

from tests.pretended_gpu import found_by
from tests.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.compiler]


@pytest.fixture(scope="module")
def found(pretended_gpu):
    return found_by("cards", environment=pretended_gpu | {"CHORUS_PRETENDED_GPUS": "4"})


def test_cards_have_memories_of_their_own(found):
    assert "at least two devices, cuda:0 and cuda:1" in found["between"]["cards"]
    assert "invalid device ordinal" in found["between"]["there"]


def test_weights_that_no_card_holds_are_evaluated_over_several(found):
    spread = found["spread"]
    assert spread["engine"] == f"plain batches: its layers lie on {spread['used']} devices"
    assert spread["apart"] < 1e-4 and spread["used"] >= 2 and spread["share"] < 2 / 3


def test_a_card_that_dies_is_the_machine_s_fault_in_every_later_call(found):
    dead = found["dead"]
    assert all(one.startswith("The GPU fails (CUDA error: unspecified") for one in dead["problems"])
    assert dead["elsewhere"] and dead["apart"] < 1e-4, "another card works"


def test_memory_that_is_there_the_second_time_halves_no_batch(found):
    once_more = found["once_more"]
    assert once_more["loads"] == 2 and once_more["apart"] < 1e-5
    assert once_more["micro_batch"] == once_more["usual"] > 1


def test_without_a_card_nothing_runs_on_the_processor_instead(pretended_gpu):
    none = found_by("cards", environment=pretended_gpu | {"CUDA_VISIBLE_DEVICES": ""})
    assert "compute.device is 'cuda', but PyTorch sees none on" in none["said"]
    assert "No CUDA GPUs are available" in none["said"] and none["elsewhere"]


def test_chunks_on_two_cards_give_what_one_gives(pretended_gpu):
    """Tests that real ones take as well."""
    tests = ("test_spread.py::test_two_gpus_give_what_one_gives", "test_devices.py::test_two_gpus")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpus"]
        + [f"tests/unit/chunked/{test}" for test in tests],
        env=os.environ | pretended_gpu | {"CHORUS_PRETENDED_GPUS": "2"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "skipped" not in result.stdout and "passed" in result.stdout
