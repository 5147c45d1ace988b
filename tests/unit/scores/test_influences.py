"""Compare error covariances from the items' influence on scores with bootstraps over items and clusters."""

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from tests.records import collect, record_fields
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.scores.influences import compute_least_variance, get_row_errors


def write_answers(folder, gold, prediction, clusters=None, name: str = "acc", model=0, seed=0):
    """Write a record with these answers, optionally in clusters."""
    right = gold == prediction
    items = [
        Item(
            item=f"boolq/{number}",
            prompt_sha256="0",
            gold=str(int(gold[number])),
            prediction=str(int(prediction[number])),
            cluster=None if clusters is None else str(clusters[number]),
            scores={"acc": float(right[number])},
        )
        for number in range(len(gold))
    ]
    value = right.mean() if name == "acc" else matthews_corrcoef(gold, prediction)
    fields = record_fields(model=f"org/{model}", task="boolq", n=len(gold), seed=seed)
    metric = Metric(name=name, value=value, stderr=None, n=len(gold), best_constant=0, chance=0)
    path = folder / f"{name}_{model}_{seed}.json"
    write_record(path, items, **fields | {"metrics": (metric,)})
    return path


def draw_answers(seed: int, models: int, items: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(models, 1)) + 2 * generator.normal(size=items)
    return generator.random((models, items)) < 1 / (1 + np.exp(-logits))


def compute_covariance(records) -> np.ndarray:
    _, errors = get_row_errors(collect(records)[1], ["model"])
    return errors.shared @ errors.shared.T + np.diag(errors.own**2)


@pytest.mark.parametrize("per_cluster", [1, 4])
def test_covariance_matches_redrawn_clusters(tmp_path, per_cluster):
    right = np.repeat(draw_answers(1, models=3, items=100), per_cluster, axis=1)
    clusters = np.arange(100 * per_cluster) // per_cluster
    covariance = compute_covariance(
        write_answers(tmp_path, np.ones(len(row)), row, clusters, model=model)
        for model, row in enumerate(right)
    )
    draws = np.random.default_rng(2).integers(100, size=(4000, 100))
    expected = np.cov(right[:, ::per_cluster][:, draws].mean(axis=2))
    assert covariance == pytest.approx(expected, abs=0.1 * expected.max())
    assert expected[0, 1] > 0.1 * expected[0, 0], "they do go together"


def test_repeated_trainings_are_averaged(tmp_path):
    right = draw_answers(5, models=2, items=200)
    records = [
        write_answers(tmp_path, np.ones(200), row, seed=seed) for seed, row in enumerate(right)
    ]
    variance = right.mean(axis=0).var(ddof=1) / 200
    assert compute_covariance(records) == pytest.approx(np.array([[variance]]), rel=1e-9)


@pytest.mark.parametrize("right", [0, 1, 50])
def test_extreme_score_has_an_error(tmp_path, right):
    record = write_answers(tmp_path, np.ones(50), np.arange(50) < right)
    variance = compute_covariance([record]).item()
    assert 0.003 > variance >= compute_least_variance(right / 50, 50) * (1 - 1e-9) > 0


def test_mcc_error_matches_redrawn_items(tmp_path):
    generator = np.random.default_rng(7)
    gold = generator.random(400) < 0.7
    predictions = [np.where(generator.random(400) < 0.25, ~gold, gold), np.full(400, True)]
    records = [
        write_answers(tmp_path, gold, prediction, name="mcc", model=model)
        for model, prediction in enumerate(predictions)
    ]
    errors = np.sqrt(np.diag(compute_covariance(records)))
    samples = generator.integers(400, size=(1000, 400))
    # Matthews' coefficient is Pearson's correlation of two binary variables.
    redraws = [np.corrcoef(gold[rows], predictions[0][rows])[0, 1] for rows in samples]
    assert errors[0] == pytest.approx(np.std(redraws), rel=0.1)
    assert 0.01 < errors[1] < 0.1, "another answer would have moved it, though none was given"
