"""Train before test on real tasks and a tiny model: what is looked at when, and what survives a kill."""

import pytest

from tests.cells import cell
from tests.processes import kill_when, python
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation import direct, lm_eval_run
from workflow_scripts.grid import train_before_test as module
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.trainer import PackedTrainer

RECIPE = TaskRecipe(
    **{"method": "lora", "lora_targets": ("all-linear",), "learning_rate": 5e-3, "epochs": 2},
    **{"batch_size": 8, "max_length": 512, "select": "best", "save_every": 2},
    **{"max_training_items": 24, "max_validation_items": 8},
)


def run(manifest, world, record, task="sst2", metric="acc", recipe=RECIPE):
    asked = cell(task, metric, protocol="train_before_test", recipe=recipe)
    return train_before_test(manifest, world, record, asked)


def test_the_record_says_what_was_done(world, model_manifest, tmp_path):
    record = run(model_manifest, world, tmp_path / "record.json")
    assert read_record(tmp_path / "record.json") == record
    assert record.protocol.name == "train_before_test"
    assert record.task.split == "validation"  # lm-eval's own test, whole
    assert record.items.n == 24
    training = record.training
    assert training.samples == 24
    assert (training.held_out_samples, training.held_out_split) == (8, "held_out_of_training")
    scores = [entry["eval_acc"] for entry in training.evaluations]
    assert len(scores) == 2, "one an epoch"
    assert training.selected == {
        "by": "acc",
        "step": 3 * (1 + scores.index(max(scores))),
        "value": max(scores),
    }


@pytest.mark.parametrize("task, metric", [("medmcqa", "acc_norm"), ("openbookqa", "acc_norm")])
def test_the_test_is_put_once_and_after_all_choosing(
    world, model_manifest, tmp_path, monkeypatch, task, metric
):
    """Of one task without and one with a validation split of its own."""
    asked_in_turn = []
    real = lm_eval_run.ask

    def spy(lm, tasks, drawn, **options):
        output = real(lm, tasks, drawn, **options)
        (samples,) = output["samples"].values()
        asked_in_turn.append({sample["prompt_hash"] for sample in samples})
        return output

    monkeypatch.setattr(direct, "ask", spy)
    monkeypatch.setattr(module, "ask", spy)
    run(model_manifest, world, tmp_path / "record.json", task, metric)
    *choosing, test = asked_in_turn
    assert len(choosing) == RECIPE.epochs
    items = read_items(tmp_path / "record.parquet").column("prompt_sha256").to_pylist()
    assert test == set(items)
    for looked_at in choosing:
        assert len(looked_at) == 8
        assert not looked_at & test


def test_the_best_of_several_rates_is_taken_on_the_choosing_items(world, model_manifest, tmp_path):
    one, other, both = (
        run(model_manifest, world, tmp_path / f"{at}.json", recipe=RECIPE.model_copy(update=rates))
        for at, rates in enumerate(
            ({"learning_rate": 1e-6}, {"learning_rate": 2e-2}, {"learning_rates": (1e-6, 2e-2)})
        )
    )
    values = [record.training.selected["value"] for record in (one, other)]
    assert both.training.selected["value"] == max(values)
    expected = (one, other)[values.index(max(values))]
    assert both.metrics == expected.metrics
    assert both.training.keys["learning_rate"] == expected.training.keys["learning_rate"]


@pytest.mark.parametrize(("precision", "method"), [("bfloat16", "lora"), ("float32", "full")])
def test_a_test_after_a_kill_is_that_of_a_training_that_went_through(
    world, model_manifest, tmp_path, monkeypatch, precision, method
):
    """All was trained and the job ended before the test: the last state is taken over, and tested as
    the model in memory would have been, in the same number format.
    """
    update = {"precision": precision, "method": method, "epochs": 1}
    recipe = RECIPE.model_copy(update=update)
    undisturbed = run(model_manifest, world, tmp_path / "undisturbed.json", recipe=recipe)

    def killed(*arguments, **options):
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(module, "evaluate_loaded", killed)
        with pytest.raises(InterruptedError):
            run(model_manifest, world, tmp_path / "killed.json", recipe=recipe)
    trained = []
    monkeypatch.setattr(PackedTrainer, "train", lambda *a, **o: trained.append(1))
    again = run(model_manifest, world, tmp_path / "killed.json", recipe=recipe)
    assert not trained, "its last state was to be taken over"
    assert again.metrics == undisturbed.metrics and again.training == undisturbed.training
    assert again.protocol.dtype == precision
    items = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("killed", "undisturbed")]
    assert items[0] == items[1]


PROGRAM = """
import sys
import torch
torch.set_num_threads(1)
from pathlib import Path
from tests.unit.grid.test_train_before_test import run
run(*map(Path, sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bytes(world, model_manifest, tmp_path):
    """Killed while it trains, then while the test is put."""
    undisturbed = run(model_manifest, world, tmp_path / "undisturbed.json")
    record = tmp_path / "killed.json"
    for seen in (".killed.training/*/checkpoint-2/seal.json", ".killed.scored"):
        kill_when(
            lambda seen=seen: list(tmp_path.glob(seen)), PROGRAM, model_manifest, world, record
        )
        assert not record.exists()
    python(PROGRAM, model_manifest, world, record)
    assert read_record(record).metrics == undisturbed.metrics
    assert read_record(record).training == undisturbed.training
    items = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("killed", "undisturbed")]
    assert items[0] == items[1]
