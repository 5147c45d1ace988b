"""Train real weights on CoLA; its score stays at the baseline, as in the published results."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cells import make_cell
from tests.processes import ROOT
from tests.unit.settings.merged import load
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.grid.train_before_test import train_before_test

pytestmark = pytest.mark.real


def test_cola_stays_baseline(hub, manifest, tmp_path):
    """The log-probability of the correct answer rises, but the Matthews correlation stays at the baseline.

    The published models of this size show the same after five epochs on all 8,551 sentences.
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
    request = make_cell("cola", "mcc", protocol="train_before_test", recipe=recipe)
    train_before_test(manifest, hub, tmp_path / "trained.json", request)
    evaluate_direct(manifest, hub, tmp_path / "direct.json", make_cell("cola", "mcc"))
    gained = read_log_odds(tmp_path / "trained.json") - read_log_odds(tmp_path / "direct.json")
    stderr = gained.std(ddof=1) / len(gained) ** 0.5
    record = read_record(tmp_path / "trained.json")
    (score,) = (metric for metric in record.metrics if metric.name == "mcc")
    assert score.n == len(gained) == 1_043 and score.best_constant == 0
    assert gained.mean() > 2 * stderr
    for published in read_published_cola("openai-community/gpt2", "EleutherAI/pythia-160m-deduped"):
        assert abs(score.value - published.value) < 2 * np.hypot(score.stderr, published.stderr)


def read_log_odds(record: Path) -> np.ndarray:
    """Read the normalized log-probability of each item's correct answer out of two."""
    items = read_items(record).sort_by("item").to_pylist()
    pairs = np.array([item["loglikelihoods"] for item in items])
    right = pairs[np.arange(len(items)), [int(item["gold"]) for item in items]]
    return right - np.logaddexp(*pairs.T)


def read_published_cola(*models: str) -> list:
    cells = pd.read_csv(ROOT / "resources/published/harmony_cells.csv")
    trained = cells[(cells["task"] == "cola") & (cells["protocol"] == "train_before_test")]
    return [next(trained[trained["model"] == model].itertuples()) for model in models]
