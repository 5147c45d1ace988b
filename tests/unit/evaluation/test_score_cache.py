"""Test that cached scores survive a killed job, and are reused only by an identical job."""

import pytest
import torch

from tests.cells import make_cell
from tests.processes import kill_when
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.evaluation.score_cache import Answers, ScoreCache, get_score_cache_path

RUN = {
    "weights_sha256": "0" * 64,
    "harness": "lm_eval 1",
    "settings": {"dtype": "float32"},
}
QUESTION = ("loglikelihood", ([1, 2], [3]), {"window": 8})


@pytest.mark.parametrize("lost_bytes", [0, 1, 5, 20])
def test_half_written_line(tmp_path, lost_bytes):
    path = tmp_path / "items"
    values = {"a": [-1.2345678901234567, True], "b": [float("-inf"), False], "c": [5, 6, 7, 8, 9]}
    with ScoreCache(path, **RUN) as items:
        for key, value in values.items():
            items.add(key, value)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - lost_bytes])
    if lost_bytes > 1:
        del values["c"]
    for _ in range(2):
        with ScoreCache(path, **RUN) as items:
            assert items.values == values
            values["new"] = [7, False]
            items.add("new", values["new"])


@pytest.mark.parametrize(
    "change",
    [
        {"weights_sha256": "1" * 64},
        {"harness": "lm_eval 2"},
        {"settings": {"dtype": "bfloat16"}},
        {"question": ("loglikelihood", ([1], [2, 3]), {"window": 8})},
        {"question": ("loglikelihood", ([12], [3]), {"window": 8})},
        {"question": ("loglikelihood", ([1, 2], [3]), {"window": 9})},
        {"question": ("generation", ([1, 2], [3]), {"window": 8})},
    ],
    ids=lambda change: next(iter(change)),
)
def test_score_cache_changed_key(tmp_path, change):
    question = change.pop("question", QUESTION)
    with ScoreCache(tmp_path / "items", **RUN) as items:
        Answers(items, [QUESTION])[0] = [1.0, True]
    with ScoreCache(tmp_path / "items", **RUN | change) as items:
        assert not Answers(items, [question])
    with ScoreCache(tmp_path / "items", **RUN) as items:
        assert Answers(items, [QUESTION]) == {0: [1.0, True]}


CHILD = """
import sys, torch
from pathlib import Path
from tests.cells import make_cell
from workflow_scripts.evaluation.direct import evaluate_direct
torch.set_num_threads(1)
request = make_cell("arc_easy", "acc", shots=2, max_test_items=8)
evaluate_direct(*map(Path, sys.argv[1:]), request)
"""
# Slow the model down, so that the job can be killed; the results stay the same.
SLOW = """
import time
from workflow_scripts.evaluation.prefix import engine
engine.CPU_ANSWERS, engine.CPU_TOKENS = 4, 64
from workflow_scripts.evaluation.prefix.model import CausalModel
packed, plain = CausalModel.run, CausalModel.run_plain
def slow_down(call):
    def run(self, *args, **kwargs):
        time.sleep(0.1)
        return call(self, *args, **kwargs)
    return run
CausalModel.run, CausalModel.run_plain = slow_down(packed), slow_down(plain)
"""


@pytest.mark.slow
def test_killed_job_resumes(world, model_manifest, tmp_path, monkeypatch):
    record = tmp_path / "killed/record.json"
    store = get_score_cache_path(record)

    def count_lines() -> int:
        return store.read_bytes().count(b"\n") if store.exists() else 0

    kill_when(lambda: count_lines() >= 4, SLOW + CHILD, model_manifest, world, record)
    stored = count_lines()
    assert not record.exists()
    monkeypatch.setattr("workflow_scripts.evaluation.prefix.engine.CPU_ANSWERS", 4)
    monkeypatch.setattr("workflow_scripts.evaluation.prefix.engine.CPU_TOKENS", 64)
    torch.set_num_threads(1)
    request = make_cell("arc_easy", "acc", shots=2, max_test_items=8)
    paths = record, tmp_path / "whole/record.json"
    for path in paths:
        evaluate_direct(model_manifest, world, path, request)
    assert 4 <= stored < count_lines()
    killed, whole = map(read_record, paths)
    assert killed.serialize_stable() == whole.serialize_stable()
