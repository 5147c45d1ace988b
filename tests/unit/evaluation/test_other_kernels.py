"""What stays the same on another processor: with PyTorch's plain kernels, and with another number of threads."""

import pytest

from tests.cells import cell
from tests.processes import python
from workflow_scripts.core.items import read_items
from workflow_scripts.evaluation.direct import evaluate_direct

# Float32 holds seven digits, and log-probabilities of whole answers are some tens.
ROUNDING = 1e-3
_ELSEWHERE = """
import sys
from pathlib import Path
import torch
from tests.unit.evaluation.test_other_kernels import asked
from workflow_scripts.evaluation.direct import evaluate_direct
torch.set_num_threads(int(sys.argv[4]))
print(torch.backends.cpu.get_cpu_capability())
evaluate_direct(*map(Path, sys.argv[1:4]), asked())
"""


def asked():
    return cell("arc_easy", "acc", max_test_items=24)


@pytest.mark.slow
@pytest.mark.parametrize(("capability", "threads"), [(None, 1), (None, 2), ("default", 1)], ids=str)
def test_answers_differ_by_rounding_alone(world, model_manifest, tmp_path, capability, threads):
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    evaluate_direct(model_manifest, world, here, asked())
    environment = {"ATEN_CPU_CAPABILITY": capability} if capability else {}
    said = python(_ELSEWHERE, model_manifest, world, there, threads, **environment)
    if capability:
        assert said.strip().endswith(capability.upper())
    found = [read_items(path.with_suffix(".parquet")).to_pylist() for path in (here, there)]
    assert len(found[0]) == 24
    for mine, other in zip(*found, strict=True):
        scores = mine["loglikelihoods"]
        assert other["loglikelihoods"] == pytest.approx(scores, abs=ROUNDING)
        best, second = sorted(scores)[:-3:-1]
        if best - second > 2 * ROUNDING:
            assert other["correct"] == mine["correct"]
    if threads == 1 and capability is None:
        one, other = (path.with_suffix(".parquet").read_bytes() for path in (here, there))
        assert one == other
