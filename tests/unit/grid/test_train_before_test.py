"""Train before test on real tasks and a tiny model: what is looked at when, and what survives a kill."""

import pytest

from tests.cells import cell
from tests.processes import kill_when, python
from tests.unit.conftest import placed
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation import lm_eval_run
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.evaluation.prefix_lm import PrefixLM
from workflow_scripts.grid import train_before_test as module
from workflow_scripts.grid.splits import load_splits
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.hub.load import load_tokenizer
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


@pytest.mark.parametrize("family, starts", [("Llama-0.3M", True), ("Pythia-0.1M", False)])
def test_what_is_trained_on_begins_as_what_is_tested(
    world, model_manifest, tmp_path, monkeypatch, family, starts
):
    """From the hub's folder to the trainer: with a start token where the tokenizer has one."""
    trained_on, scored = [], []

    def spy(load, lesson, *arguments, **options):
        samples = lesson.samples
        trained_on.extend(samples[at].tokens.tolist() for at in range(len(samples)))
        return train(load, lesson, *arguments, **options)

    def listen(lm, requests, *arguments, **options):
        scored.extend([*context, *continuation] for _, context, continuation in requests)
        return tokens_scored(lm, requests, *arguments, **options)

    train, tokens_scored = module.train, PrefixLM._loglikelihood_tokens
    monkeypatch.setattr(module, "train", spy)
    monkeypatch.setattr(PrefixLM, "_loglikelihood_tokens", listen)
    manifest = placed(world, family)
    run(manifest, world, tmp_path / "record.json")
    start = load_tokenizer(manifest).bos_token_id
    for sequences in (trained_on, scored):
        assert {sequence.count(start) for sequence in (one[:-1] for one in sequences)} == {starts}
        assert all(sequence[0] == start for sequence in sequences) == starts


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

    monkeypatch.setattr(lm_eval_run, "ask", spy)
    monkeypatch.setattr(module, "ask", spy)
    run(model_manifest, world, tmp_path / "record.json", task, metric)
    *choosing, test = asked_in_turn
    assert len(choosing) == RECIPE.epochs
    items = read_items(tmp_path / "record.parquet").column("prompt_sha256").to_pylist()
    assert test == set(items)
    for looked_at in choosing:
        assert len(looked_at) == 8
        assert not looked_at & test


def test_training_on_the_task_changes_what_is_measured(world, model_manifest, tmp_path):
    trained = run(model_manifest, world, tmp_path / "trained.json")
    evaluate_direct(model_manifest, world, tmp_path / "direct.json", cell("sst2", "acc"))
    before = read_items(tmp_path / "direct.parquet").column("loglikelihoods").to_pylist()
    after = read_items(tmp_path / "trained.parquet").column("loglikelihoods").to_pylist()
    assert before != after
    assert trained.model == read_record(tmp_path / "direct.json").model, "the same model, trained"


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


def test_the_last_state_is_tested_where_none_is_selected(world, model_manifest, tmp_path):
    recipe = RECIPE.model_copy(update={"select": "last"})
    trained = run(model_manifest, world, tmp_path / "last.json", recipe=recipe).training
    assert trained.selected == {"step": 6}


def test_of_a_metric_that_is_better_smaller_the_smallest_is_kept(
    world, model_manifest, tmp_path, monkeypatch
):
    """As lm-eval says of bits per byte; here of the accuracy, which can be compared with the above."""

    def smaller_is_better(*arguments, **options):
        splits = load_splits(*arguments, **options)
        splits.choosing._higher_is_better = {"acc": False}
        return splits

    monkeypatch.setattr(module, "load_splits", smaller_is_better)
    recipe = RECIPE.model_copy(update={"learning_rates": (1e-6, 2e-2, 2e-1)})
    record = run(model_manifest, world, tmp_path / "record.json", recipe=recipe)
    monkeypatch.undo()
    larger = run(model_manifest, world, tmp_path / "larger.json", recipe=recipe)
    values = [entry["eval_acc"] for entry in record.training.evaluations]
    assert record.training.selected["value"] == min(values)
    assert record.training.selected["value"] < larger.training.selected["value"]


def test_a_metric_that_lm_eval_does_not_report_is_named(world, model_manifest, tmp_path):
    with pytest.raises(UserError, match="reports no 'mcc' for the task sst2; it reports acc"):
        run(model_manifest, world, tmp_path / "r.json", metric="mcc")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("method", ["lora", "full"])
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
