"""Test train-before-test on real tasks with a tiny model: order of evaluation, and resuming after a kill."""

import lm_eval
import pytest

from tests.cells import make_cell
from tests.processes import kill_when
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.settings.harmony import TaskRecipe

RECIPE = TaskRecipe(
    method="lora",
    lora_target_modules=("all-linear",),
    learning_rate=5e-3,
    epochs=2,
    batch_size=8,
    max_length=512,
    select="best",
    save_steps=2,
    max_training_items=24,
    max_validation_items=8,
    precision="float32",
)


def run(manifest, world, record, task="sst2", metric="acc", **changes):
    recipe = RECIPE.model_copy(update=changes)
    request = make_cell(task, metric, protocol="train_before_test", recipe=recipe)
    return train_before_test(manifest, world, record, request)


def assert_same(first, second):
    """Compare two records and their items."""
    records = [read_record(path) for path in (first, second)]
    assert records[0].metrics == records[1].metrics
    assert records[0].training == records[1].training
    items = [path.with_suffix(".parquet").read_bytes() for path in (first, second)]
    assert items[0] == items[1]


def test_reading_order(world, model_manifest, tmp_path, monkeypatch):
    """The test is evaluated once, after all validation, even if a task has one split for both."""
    prompts = []
    evaluate = lm_eval.evaluate

    def record_prompts(**options):
        output = evaluate(**options)
        (samples,) = output["samples"].values()
        prompts.append({sample["prompt_hash"] for sample in samples})
        return output

    monkeypatch.setattr(lm_eval, "evaluate", record_prompts)
    record = run(model_manifest, world, tmp_path / "record.json", "medmcqa", "acc_norm")
    *validation, test = prompts
    assert len(validation) == RECIPE.epochs
    items = read_items(tmp_path / "record.parquet").column("prompt_sha256").to_pylist()
    assert test == set(items) and len(items) == record.items.n == 24
    assert all(len(part) == 8 and not part & test for part in validation)
    training = record.training
    assert (training.samples, training.held_out_samples) == (24, 8)
    scores = [entry["eval_acc_norm"] for entry in training.evaluations]
    step = 3 * (1 + scores.index(max(scores)))
    assert training.selected == {"by": "acc_norm", "step": step, "value": max(scores)}


PROGRAM = """
import sys
import torch
torch.set_num_threads(1)
from pathlib import Path
from tests.unit.grid.test_train_before_test import run
run(*map(Path, sys.argv[1:]))
"""


@pytest.mark.slow
def test_killed_training_resumes(world, model_manifest, tmp_path):
    """Kill the job during training, then during the test."""
    run(model_manifest, world, tmp_path / "undisturbed.json")
    record = tmp_path / "killed.json"
    for pattern in (".killed.training/checkpoint-2/seal.json", ".killed.scored"):
        kill_when(
            lambda pattern=pattern: list(tmp_path.glob(pattern)),
            *(PROGRAM, model_manifest, world, record),
        )
        assert not record.exists()
    run(model_manifest, world, record)
    assert_same(record, tmp_path / "undisturbed.json")
