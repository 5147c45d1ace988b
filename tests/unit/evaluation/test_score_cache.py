"""Test that cached scores survive a killed job, and are reused only by an identical job."""

import multiprocessing
import os
import signal
from itertools import count

import pytest
import torch

from tests.cells import make_cell
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.evaluation.score_cache import ScoreCache, get_score_cache_path
from workflow_scripts.hub.load import load_model

RUN = {"weights": "0" * 64, "harness": "lm_eval 1", "dtype": "float32"}
QUESTION = ("loglikelihood", 8, [1, 2], [3])


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
        {"weights": "1" * 64},
        {"harness": "lm_eval 2"},
        {"dtype": "bfloat16"},
        {"question": ("loglikelihood", 8, [1], [2, 3])},
        {"question": ("loglikelihood", 8, [12], [3])},
        {"question": ("loglikelihood", 9, [1, 2], [3])},
        {"question": ("generation", 8, [1, 2], [3])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_score_cache_changed_key(tmp_path, change):
    question = change.pop("question", QUESTION)
    with ScoreCache(tmp_path / "items", **RUN) as items:
        items.look_up_answers([QUESTION])[0] = [1.0, True]
    with ScoreCache(tmp_path / "items", **RUN | change) as items:
        assert not items.look_up_answers([question])
    with ScoreCache(tmp_path / "items", **RUN) as items:
        assert items.look_up_answers([QUESTION]) == {0: [1.0, True]}


def evaluate(manifest, world, record, load=load_model):
    torch.set_num_threads(1)
    request = make_cell("arc_easy", "acc", shots=20, max_test_items=8)
    evaluate_direct(manifest, world, record, request, load=load)


def load_and_kill(*arguments, **options):
    """Load a model that kills its process in a later forward call."""
    loaded, calls = load_model(*arguments, **options), count(1)

    def kill_process(*_):
        if next(calls) == 8:
            os.kill(os.getpid(), signal.SIGKILL)

    loaded.model.get_input_embeddings().register_forward_pre_hook(kill_process)
    return loaded


@pytest.mark.slow
def test_killed_job_resumes(world, model_manifest, tmp_path):
    record = tmp_path / "killed/record.json"
    arguments = (model_manifest, world, record, load_and_kill)
    process = multiprocessing.get_context("fork").Process(target=evaluate, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and not record.exists()
    store = get_score_cache_path(record)
    stored = store.read_bytes().count(b"\n")
    paths = record, tmp_path / "whole/record.json"
    for path in paths:
        evaluate(model_manifest, world, path)
    assert 0 < stored < store.read_bytes().count(b"\n")
    killed, whole = map(read_record, paths)
    assert killed.serialize_stable() == whole.serialize_stable()
