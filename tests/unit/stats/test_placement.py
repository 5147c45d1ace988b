"""A new model on the panel: intervals that hold as often as they say, and plain answers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.unit.stats.random_scores import SEEDS, published_scores, random_scores
from workflow_scripts.stats.placement import PENALTIES, fit, leave_one_out, place
from workflow_scripts.stats.principal import principal_components

FEW = ["mnli", "arc_easy", "gsm8k"]


@pytest.fixture(scope="module")
def panel():
    return published_scores()


@pytest.mark.parametrize("tasks", [1, 3, 8, 16])
def test_intervals_of_models_left_out_of_the_panel_hold_about_as_often_as_they_say(panel, tasks):
    held, errors = [], []
    for seed in SEEDS[:4]:
        chosen = list(np.random.default_rng(seed).choice(panel.columns, tasks, replace=False))
        found = leave_one_out(panel, chosen)
        held.append(((found["low"] <= found["pc1"]) & (found["pc1"] <= found["high"])).mean())
        errors.append((found["predicted"] - found["pc1"]).std())
    assert 0.9 <= np.mean(held) <= 0.99
    assert np.mean(errors) < principal_components(panel).scores["PC1"].std() / 2


def test_models_that_are_drawn_anew_lie_in_their_intervals():
    generator = np.random.default_rng(17)
    held = 0
    for seed in range(40):
        drawn = random_scores(seed, models=62, tasks=8, digits=6)
        panel, new = drawn.iloc[:-1], drawn.iloc[-1]
        # The panel's own component of the new model, with nothing missing.
        standard = (new - panel.mean()) / panel.std(ddof=0)
        truth = principal_components(panel)
        weights = np.linalg.lstsq(
            ((panel - panel.mean()) / panel.std(ddof=0)).to_numpy(),
            truth.scores["PC1"].to_numpy(),
            rcond=None,
        )[0]
        chosen = generator.choice(panel.columns, 3, replace=False)
        found = place(panel, new[chosen])
        held += found.low <= standard.to_numpy() @ weights <= found.high
    assert 0.85 <= held / 40 <= 1.0


def test_a_model_of_the_panel_with_all_its_scores_stands_where_it_stood(panel):
    truth = principal_components(panel).scores["PC1"]
    for at in (0, 30, 60):
        found = place(panel, panel.iloc[at])
        assert found.pc1 == pytest.approx(truth.iloc[at], abs=0.1)
        assert found.rank in (at + 1, at + 2)
        assert found.neighbours.index[0] == panel.index[at]
        assert found.neighbours.iloc[0] == 0
        assert found.outside == ()


def test_the_prediction_is_scikit_learns_ridge_regression(panel):
    new = panel.iloc[40][FEW] + 1.0
    found = place(panel, new)
    standard = (panel[FEW] - panel[FEW].mean()) / panel[FEW].std(ddof=0)
    target = principal_components(panel).scores["PC1"]
    moved = ((new - panel[FEW].mean()) / panel[FEW].std(ddof=0)).to_frame().T
    theirs = [
        Ridge(alpha=len(panel) * p, fit_intercept=False).fit(standard, target).predict(moved)[0]
        for p in PENALTIES
    ]
    assert np.min(np.abs(np.array(theirs) - found.pc1)) < 1e-6


def test_more_tasks_and_less_noise_make_the_interval_narrower(panel):
    new = panel.loc["google/gemma-2-2b"]

    def width(tasks, stderr=0.0):
        found = place(panel, new[tasks], new[tasks] * 0 + stderr)
        return found.high - found.low

    few, many = FEW, list(panel.columns[:16])
    assert width(many) < width(few)
    assert width(few) == pytest.approx(place(panel, new[few]).high - place(panel, new[few]).low)
    assert width(few, 5.0) > width(few, 1.0) > width(few)
    fitted = fit(panel, few)
    noise = 500 * np.linalg.norm(fitted.weights / fitted.spreads)
    assert width(few, 500.0) / 2 == pytest.approx(1.96 * noise, rel=0.02)


def test_a_task_that_stands_out_is_named_and_so_is_one_beyond_the_panel(panel):
    new = panel.loc["Qwen/Qwen1.5-4B"].copy()
    usual = place(panel, new)
    new["gsm8k"] = 99.0
    odd = place(panel, new)
    assert odd.residuals["gsm8k"] > 3 > usual.residuals["gsm8k"]
    assert odd.residuals.idxmax() == "gsm8k"
    assert odd.outside == ("gsm8k",)


def test_one_task_has_no_others_to_be_predicted_from(panel):
    found = place(panel, pd.Series({"mnli": 80.0, "gsm8k": np.nan}))
    assert found.residuals.isna().all()
    assert list(found.residuals.index) == ["mnli"]
    assert found.best_rank <= found.rank <= found.worst_rank


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (pd.Series({"mmlu": 50.0}), "measured has the task 'mmlu'; expected tasks of the panel"),
        (pd.Series({"mnli": np.nan}), "at least one of the panel's tasks"),
    ],
)
def test_what_cannot_be_placed_is_refused_in_a_sentence(panel, measured, words):
    with pytest.raises(ValueError, match=words):
        place(panel, measured)
    with pytest.raises(ValueError, match="panel has 5 models"):
        place(panel.iloc[:5], pd.Series({"mnli": 50.0}))
