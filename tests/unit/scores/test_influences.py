"""Compare error covariances from the items' influence on scores with bootstraps over items and clusters."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import matthews_corrcoef

from workflow_scripts.scores.foreign.cells import ImportedScore
from workflow_scripts.scores.influences import (
    compute_item_errors,
    compute_min_variance,
    get_row_errors,
    list_influences,
)

FIELDS = dict.fromkeys(("study", "protocol", "variant", "dtype", "commit"), "")


def score_answers(gold, predictions, clusters=None, same_model=False) -> Iterator[dict]:
    """Score each model's answers by accuracy, and by Matthews' coefficient if both answers are correct for some."""
    for model, prediction in enumerate(predictions):
        right = (gold == prediction).astype(float)
        answers = {"gold": gold.astype(str), "prediction": prediction.astype(str)}
        scores = [{"acc": score} for score in right]
        items = pd.DataFrame(answers | {"scores": scores, "cluster": clusters, "subset": None})
        items["item"] = items.index
        metric = ImportedScore(name="acc", value=right.mean())
        if not gold.all():
            metric = ImportedScore(name="mcc", value=matthews_corrcoef(gold, prediction))
        fields = FIELDS | {"task": "boolq", "model": "" if same_model else str(model)}
        yield from list_influences(fields, [metric], items)


def compute_covariance(*answers, **kwargs) -> np.ndarray:
    _, errors = get_row_errors(compute_item_errors(score_answers(*answers, **kwargs)), ["model"])
    return errors.shared @ errors.shared.T + np.diag(errors.independent**2)


def draw_answers(seed: int, models: int, items: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(models, 1)) + 2 * generator.normal(size=items)
    return generator.random((models, items)) < 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize("per_cluster", [1, 4])
def test_covariance_matches_redrawn_clusters(per_cluster):
    right = np.repeat(draw_answers(1, models=3, items=100), per_cluster, axis=1)
    clusters = np.arange(100 * per_cluster) // per_cluster
    covariance = compute_covariance(np.ones(100 * per_cluster, bool), right, clusters)
    draws = np.random.default_rng(2).integers(100, size=(4000, 100))
    expected = np.cov(right[:, ::per_cluster][:, draws].mean(axis=2))
    assert covariance == pytest.approx(expected, abs=0.1 * expected.max())
    assert expected[0, 1] > 0.1 * expected[0, 0], "the errors of the models are correlated"


def test_repeated_trainings_are_averaged():
    right = draw_answers(5, models=2, items=200)
    variance = right.mean(axis=0).var(ddof=1) / 200
    covariance = compute_covariance(np.ones(200, bool), right, same_model=True)
    assert covariance == pytest.approx(np.array([[variance]]), rel=1e-9)


@pytest.mark.parametrize("right", [0, 1, 50])
def test_extreme_score_has_an_error(right):
    variance = compute_covariance(np.ones(50, bool), [np.arange(50) < right]).item()
    assert 0.003 > variance >= compute_min_variance(right / 50, 50) * (1 - 1e-9) > 0


def test_mcc_error_matches_redrawn_items():
    generator = np.random.default_rng(7)
    gold = generator.random(400) < 0.7
    predictions = [np.where(generator.random(400) < 0.25, ~gold, gold), np.full(400, True)]
    errors = np.sqrt(np.diag(compute_covariance(gold, predictions)))
    samples = generator.integers(400, size=(1000, 400))
    # Matthews' coefficient is Pearson's correlation of two binary variables.
    redraws = [np.corrcoef(gold[rows], predictions[0][rows])[0, 1] for rows in samples]
    assert errors[0] == pytest.approx(np.std(redraws), rel=0.1)
    assert 0.01 < errors[1] < 0.1, "other answers would have changed the score"
