"""The engine on a GPU that is pretended: log-likelihoods, answers and draws are those of the CPU."""

import pytest

from tests.pretended_gpu import found_by
from tests.unit.evaluation.drawn import fresh_seed

pytestmark = [pytest.mark.slow, pytest.mark.compiler]

KINDS = ("qwen2", "llama", "gpt_neox", "gemma2", "some_windowed", "eager", "fused")


def _compared(dtype: str, environment: dict[str, str]) -> dict[str, dict]:
    found = found_by("engine", dtype, str(fresh_seed()), *KINDS, environment=environment)
    for kind, of_kind in found.items():
        assert of_kind["engine"] == "prefix sharing", kind
        assert of_kind["replayed"] > 0, kind  # steps were recorded as CUDA graphs
    return found


def test_in_float32_all_is_as_on_a_cpu(pretended_gpu):
    for kind, found in _compared("float32", pretended_gpu).items():
        assert found["from_exact"] < 1e-4, kind
        assert found["other_answers"] == found["other_draws"] == 0, kind


def test_in_16_bits_scores_are_as_near_to_the_exact_ones_as_on_a_cpu(pretended_gpu):
    for kind, found in _compared("bfloat16", pretended_gpu).items():
        assert found["from_exact"] < 3 * max(found["from_exact_on_cpu"], 0.05), kind
