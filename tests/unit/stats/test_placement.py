"""A new model on the panel: intervals that hold as often as they say, and plain answers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.unit.stats.random_scores import published_scores, random_scores
from workflow_scripts.settings.tables import read_models
from workflow_scripts.stats import placement
from workflow_scripts.stats.placement import fit, without_families
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.unseen_families import PENALTIES, learn

MODELS_TABLE = Path(__file__).parents[3] / "config/models.tsv"
FAMILIES = pd.Series({name: row.family for name, row in read_models(MODELS_TABLE).items()})
FEW = ["mnli", "arc_easy", "gsm8k"]


def place(panel: pd.DataFrame, measured: pd.Series, stderrs: pd.Series | None = None):
    known = measured.dropna()
    errors = known * 0.0 if stderrs is None else stderrs
    return placement.place(known, errors, fit(panel, list(known.index), FAMILIES))


@pytest.fixture(scope="module")
def panel():
    return published_scores()


def test_intervals_hold_models_of_each_family_placed_without_their_family(panel):
    held = []
    for tasks in (1, 2, 3, 5, 8, 12, 16):
        for seed in range(8):
            chosen = list(np.random.default_rng([seed, tasks]).choice(panel.columns, tasks, False))
            found = without_families(panel, chosen, FAMILIES)
            held.append((found["low"] <= found["pc1"]) & (found["pc1"] <= found["high"]))
    shares = pd.concat(held, axis=1).mean(axis=1)
    assert 0.94 <= shares.mean() <= 0.985
    # Of four models of GPT-2 and eight of Pythia, which stray farthest; of Yi's seven nearly all are held.
    assert shares.groupby(FAMILIES.reindex(panel.index)).mean().min() >= 0.93


def test_the_coverage_that_is_told_is_that_of_models_without_their_family(panel):
    found = without_families(panel, FEW, FAMILIES)
    held = (found["low"] <= found["pc1"]) & (found["pc1"] <= found["high"])
    assert place(panel, panel.iloc[7][FEW]).coverage == held.mean()
    # What is said of a family does not move with how well that family is predicted.
    own = FAMILIES.reindex(panel.index) == "GPT-2"
    moved = panel.copy()
    moved.loc[own, "hellaswag"] += 0.1  # moves the component, hardly
    again = without_families(moved, FEW, FAMILIES)
    widths = [(one["high"] - one["low"])[own] for one in (found, again)]
    assert widths[0].to_numpy() == pytest.approx(widths[1].to_numpy(), rel=0.01)


def test_models_that_are_low_get_wider_intervals(panel):
    found = [place(panel, panel.iloc[at][FEW]) for at in (0, 30, 60)]  # by rank
    high, middle, low = (one.high - one.low for one in found)
    assert 1.2 * high < 1.1 * middle < low


def test_errors_of_an_unseen_family_are_those_of_a_regression_without_it(panel):
    standard = ((panel[FEW] - panel[FEW].mean()) / panel[FEW].std(ddof=0)).to_numpy()
    target = principal_components(panel).scores["PC1"].to_numpy()
    of = FAMILIES.reindex(panel.index).to_numpy()
    found, nearest = learn(standard, target, of), []
    for penalty in PENALTIES:
        errors = np.empty(len(target))
        for family in set(of):
            out = of == family
            theirs = Ridge(alpha=len(panel) * penalty).fit(standard[~out], target[~out])
            # scikit-learn does not penalise the constant either.
            errors[out] = target[out] - theirs.predict(standard[out])
        nearest.append(np.abs(errors - found.errors).max())
    assert min(nearest) < 1e-6


def test_models_that_are_drawn_anew_lie_in_their_intervals():
    generator = np.random.default_rng(17)
    held = 0
    for seed in range(40):
        drawn = random_scores(seed, models=62, tasks=8, digits=6)
        panel, new = drawn.iloc[:-1], drawn.iloc[-1]
        families = pd.Series([f"family {at % 6}" for at in range(61)], panel.index)
        # The panel's own component of the new model, with nothing missing.
        standard = (new - panel.mean()) / panel.std(ddof=0)
        truth = principal_components(panel)
        weights = np.linalg.lstsq(
            ((panel - panel.mean()) / panel.std(ddof=0)).to_numpy(),
            truth.scores["PC1"].to_numpy(),
            rcond=None,
        )[0]
        chosen = generator.choice(panel.columns, 3, replace=False)
        fitted = fit(panel, list(chosen), families)
        found = placement.place(new[chosen], new[chosen] * 0.0, fitted)
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
    fitted = fit(panel, few, FAMILIES)
    noise = 500 * np.linalg.norm(fitted.learned.weights[1:] / fitted.spreads)
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
