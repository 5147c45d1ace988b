"""Test placing a new model on the panel: coverage of the intervals, and agreement with scikit-learn."""

import numpy as np
from sklearn.linear_model import Ridge

from tests.unit.stats.random_scores import read_families, read_published_scores
from workflow_scripts.stats.placement import fit_panel, place_model
from workflow_scripts.stats.principal import compute_principal_components
from workflow_scripts.stats.ridge_by_family import PENALTIES, fit_ridge, predict_held_out

PANEL = read_published_scores()
FAMILIES = read_families().reindex(PANEL.index)
PC1 = compute_principal_components(PANEL).scores["PC1"].to_numpy()
TASKS = ["mnli", "arc_easy", "gsm8k"]
STANDARD = ((PANEL[TASKS] - PANEL[TASKS].mean()) / PANEL[TASKS].std(ddof=0)).to_numpy()


def compute_coverage(scores):
    standard = ((scores - scores.mean()) / scores.std(ddof=0)).to_numpy()
    predicted, width = predict_held_out(lambda _: standard, PC1, FAMILIES.to_numpy()).T
    return (np.abs(predicted - PC1) <= width).mean()


def test_intervals_cover_held_out_families():
    coverage = []
    for tasks in (1, 3, 8, 16):
        for seed in range(3):
            names = list(np.random.default_rng([seed, tasks]).choice(PANEL.columns, tasks, False))
            coverage.append(compute_coverage(PANEL[names]))
    assert 0.94 <= np.mean(coverage) <= 0.99


def test_unseen_family_errors_match_sklearn():
    families, distances = FAMILIES.to_numpy(), []
    fitted = fit_ridge(STANDARD, PC1, families)
    for penalty in PENALTIES:
        errors = np.empty(len(PC1))
        for family in set(families):
            out = families == family
            ridge = Ridge(alpha=len(PANEL) * penalty).fit(STANDARD[~out], PC1[~out])
            errors[out] = PC1[out] - ridge.predict(STANDARD[out])
        distances.append(np.abs(errors - fitted.errors).max())
    assert min(distances) < 1e-6


def test_prediction_matches_sklearn():
    new = (PANEL.iloc[40] + 0.01)[TASKS]
    panel_fit = fit_panel(PANEL, TASKS, FAMILIES)
    placement = place_model(new, new * 0.0, panel_fit)
    standardized = ((new - PANEL[TASKS].mean()) / PANEL[TASKS].std(ddof=0)).to_numpy()[None]
    expected = [
        Ridge(alpha=len(PANEL) * penalty).fit(STANDARD, PC1).predict(standardized)[0]
        for penalty in PENALTIES
    ]
    assert np.abs(np.array(expected) - placement["pc1"]).min() < 1e-6
    assert placement["best_rank"] <= placement["rank"] <= placement["worst_rank"]
    new["gsm8k"] = 0.99
    assert place_model(new, new * 0, panel_fit)["outside"] == ["gsm8k"]
