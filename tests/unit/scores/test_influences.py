"""What items do to scores: against drawing them again, and against leaving them out one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import matthews_corrcoef

from tests.records import make_items, record_fields
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.scores.influences import get_row_errors, item_errors, least_variance


def answered(
    folder, model: str, right: np.ndarray, cluster=None, task: str = "boolq", seed: int = 0
):
    """A record whose items are right or wrong, in clusters where these are given."""
    items = [
        Item(
            **vars(item) | {"cluster": cluster and cluster[at], "scores": {"acc": float(right[at])}}
        )
        for at, item in enumerate(make_items(golds=("0",) * len(right)))
    ]
    path = folder / f"{model.replace('/', '--')}_{task}_{seed}.json"
    fields = record_fields(
        model=model, task=task, value=float(right.mean()), n=len(right), seed=seed
    )
    return path, write_record(path, items, **fields)


def some(seed: int, models: int, items: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(models, 1)) + 2 * generator.normal(size=items)
    return generator.random((models, items)) < 1 / (1 + np.exp(-logits))


def covariance(table: pd.DataFrame) -> np.ndarray:
    _, errors = get_row_errors(table, ["model"])
    return errors.shared @ errors.shared.T + np.diag(errors.own**2)


def test_errors_are_those_of_items_drawn_again_for_all_models_at_once(tmp_path):
    right = some(1, models=5, items=300)
    found = item_errors([answered(tmp_path, f"org/{at}", row) for at, row in enumerate(right)])
    draws = np.random.default_rng(2).integers(300, size=(4000, 300))
    expected = np.cov(right[:, draws].mean(axis=2))
    assert covariance(found) == pytest.approx(expected, abs=0.1 * expected.max())
    above = np.triu_indices(5, 1)
    correlated = expected[above] / np.sqrt(np.outer(*[np.diag(expected)] * 2)[above])
    assert (correlated > 0.05).all(), "they do go together"


def test_items_of_a_cluster_are_drawn_together(tmp_path):
    """Four items to a passage, all right or all wrong: a quarter of the items, twice the error."""
    right = np.repeat(some(3, models=2, items=60), 4, axis=1)
    passages = [str(at // 4) for at in range(240)]
    one_by_one = item_errors([answered(tmp_path, f"a/{at}", row) for at, row in enumerate(right)])
    together = item_errors(
        [answered(tmp_path, f"b/{at}", row, passages) for at, row in enumerate(right)]
    )
    assert (together["clusters"] == 60).all()
    assert (one_by_one["clusters"] == 240).all()
    ratio = np.sqrt(np.diag(covariance(together)) / np.diag(covariance(one_by_one)))
    assert ratio == pytest.approx(2, rel=0.02)


def test_several_trainings_of_a_cell_are_averaged_and_the_items_stay(tmp_path):
    right = some(5, models=2, items=200)
    records = [answered(tmp_path, "org/net", row, seed=at) for at, row in enumerate(right)]
    found = item_errors(records)
    assert len(found) == 1
    mean = right.mean(axis=0)
    assert covariance(found).item() == pytest.approx(mean.var(ddof=1) / 200, rel=1e-9)


@pytest.mark.parametrize("right", [0, 1, 50])
def test_a_score_at_the_end_of_its_range_has_an_error_all_the_same(tmp_path, right):
    answers = np.arange(50) < right
    (row,) = item_errors([answered(tmp_path, "org/net", answers)]).to_dict("records")
    variance = float(np.square(row["shared"]).sum() + row["own"] ** 2)
    assert variance >= least_variance(right / 50, 50) * (1 - 1e-9) > 0
    assert variance < 0.003


def test_matthews_coefficient_has_the_error_of_items_drawn_again(tmp_path):
    generator = np.random.default_rng(7)
    gold = generator.random(400) < 0.7
    predicted = [np.where(generator.random(400) < 0.25, ~gold, gold), np.full(400, True)]
    records = []
    for at, answers in enumerate(predicted):
        items = [
            Item(item=f"cola/{n}", prompt_sha256="0", gold=str(int(g)), prediction=str(int(p)))
            for n, (g, p) in enumerate(zip(gold, answers, strict=True))
        ]
        fields = record_fields(model=f"org/{at}", task="cola", n=400)
        value = matthews_corrcoef(gold, answers)
        metric = Metric(name="mcc", value=value, stderr=None, n=400, best_constant=0, chance=0)
        path = tmp_path / f"{at}.json"
        records.append((path, write_record(path, items, **fields | {"metrics": (metric,)})))
    found = np.sqrt(np.diag(covariance(item_errors(records))))
    draws = generator.integers(400, size=(2000, 400))
    again = [matthews_corrcoef(gold[rows], predicted[0][rows]) for rows in draws]
    assert found[0] == pytest.approx(np.std(again), rel=0.08)
    assert 0.01 < found[1] < 0.1, "one other answer would have moved it, though none was given"


def test_what_is_no_mean_over_its_items_has_no_row(tmp_path):
    path = tmp_path / "a.json"
    record = write_record(path, make_items(), **record_fields(value=0.75))
    assert item_errors([(path, record)]).empty
