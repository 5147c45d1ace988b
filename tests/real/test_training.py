"""Training real weights: it learns, survives a kill, and beats the floor of a real task."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from tests.cells import cell
from tests.processes import ROOT
from tests.real.conftest import CPU
from tests.unit.settings.merged import load
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.hub.load import load_model, load_tokenizer
from workflow_scripts.hub.mirror import read_rows
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.run import padding_token, train
from workflow_scripts.training.samples import BadSamples, Samples
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.tokenization import tokenise_conversations

pytestmark = pytest.mark.real

PLAN = Checkpoint(model="any/name", num_chunks=2, num_layers_per_chunk=6)


def conversations(hub: Path, manifest: Path, count: int):
    """Problems of GSM8K as conversations, and a tenth of them held out."""
    rows, _ = read_rows(hub, "openai/gsm8k", "main", "train")
    turns = [
        {
            "messages": [
                {"role": "user", "content": row["question"]},
                {"role": "assistant", "content": row["answer"]},
            ]
        }
        for row in rows[:count]
    ]
    samples = tokenise_conversations(
        load_tokenizer(manifest),
        turns,
        BadSamples(),
        column=None,
        length=192,
    )
    return Samples.from_list(samples).split(0.1, np.random.default_rng(0))


def fine_tune(hub: Path, manifest: Path, state: Path, steps: int, **changes):
    samples, held_out = conversations(hub, manifest, 450)

    def load(dtype):
        return load_model(manifest, chunking=PLAN.keys, **CPU | {"dtype": dtype}).model

    keys = TrainingKeys(
        **{
            "method": "freeze",
            "trains": ("chunked_layers", "wrapper"),
            "learning_rate": 3e-4,
            "batch_size": 2,
            "max_length": 192,
            "max_steps": steps,
            "save_every": 5,
        }
        | changes
    )
    return train(
        load,
        TrainingSpec(samples, keys, 0, {}, held_out),
        state,
        device="cpu",
        padding_token=padding_token(load_tokenizer(manifest)),
    )


def test_two_hundred_steps_lower_the_held_out_loss(hub, manifest, tmp_path):
    trained = fine_tune(hub, manifest, tmp_path / "state", 200, evaluate_every=100, save_every=200)
    losses = [entry["eval_loss"] for entry in trained.history if "eval_loss" in entry]
    first = np.mean([entry["loss"] for entry in trained.history if "loss" in entry][:10])
    print(f"loss of the first ten steps {first:.3f}; held out {losses}")
    assert losses[1] < losses[0] < first


def _train_to_file(hub, manifest, folder):
    torch.set_num_threads(1)
    trained = fine_tune(hub, manifest, folder / "state", 12, evaluate_every=12)
    torch.save([trained.parameters, trained.history], folder / "outcome.pt")


def test_killed_and_resumed_to_the_same_bytes(hub, manifest, tmp_path):
    context = multiprocessing.get_context("spawn")

    def start(name):
        (tmp_path / name).mkdir(exist_ok=True)
        process = context.Process(target=_train_to_file, args=(hub, manifest, tmp_path / name))
        process.start()
        return process

    start("whole").join()
    process = start("killed")
    while not (tmp_path / "killed/state/checkpoint-5").exists():
        assert process.is_alive()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert not (tmp_path / "killed/outcome.pt").exists()
    start("killed").join()
    one, two = (torch.load(tmp_path / name / "outcome.pt") for name in ("whole", "killed"))
    assert one[1] == two[1] and len(one[1]) == 13  # each step's loss, and the evaluation's
    assert one[0].keys() == two[0].keys()
    assert all(torch.equal(one[0][name], two[0][name]) for name in one[0])


def test_a_thousand_sentences_of_cola_teach_their_share_and_no_more_as_published(
    hub, manifest, tmp_path
):
    """How sure the model is of the right answer rises; its Matthews correlation stays at the floor.

    So it does for the published models of its size, after all 8,551 sentences and five epochs.
    """
    recipe = (
        load({})
        .harmony.recipes["published"]
        .model_copy(
            update={
                "learning_rate": 5e-4,
                "epochs": 2,
                "max_training_items": 1_000,
                "max_validation_items": 200,
            }
        )
    )
    asked = cell("cola", "mcc", protocol="train_before_test", recipe=recipe)
    train_before_test(manifest, hub, tmp_path / "trained.json", asked)
    evaluate_direct(manifest, hub, tmp_path / "direct.json", cell("cola", "mcc"))
    gained = sureness(tmp_path / "trained.json") - sureness(tmp_path / "direct.json")
    stderr = gained.std(ddof=1) / len(gained) ** 0.5
    record = read_record(tmp_path / "trained.json")
    (score,) = (metric for metric in record.metrics if metric.name == "mcc")
    print(
        f"CoLA mcc {score.value:.3f} ± {score.stderr:.3f} of {score.n}; log-probability of the right"
        f" answer up by {gained.mean():.3f} ± {stderr:.3f}"
    )
    assert score.n == len(gained) == 1_043 and score.best_constant == 0
    assert gained.mean() > 2 * stderr
    for theirs in published_cola("openai-community/gpt2", "EleutherAI/pythia-160m-deduped"):
        assert abs(score.value - theirs.value) < 2 * np.hypot(score.stderr, theirs.stderr)


def sureness(record: Path) -> np.ndarray:
    """The log-probability of each item's right answer, of the two that there are."""
    items = read_items(record.with_suffix(".parquet")).sort_by("item").to_pylist()
    pairs = np.array([item["loglikelihoods"] for item in items])
    right = pairs[np.arange(len(items)), [int(item["gold"]) for item in items]]
    return right - np.logaddexp(*pairs.T)


def published_cola(*models: str) -> list:
    cells = pd.read_csv(ROOT / "resources/published/harmony_cells.csv")
    trained = cells[(cells["task"] == "cola") & (cells["protocol"] == "train_before_test")]
    return [next(trained[trained["model"] == model].itertuples()) for model in models]
