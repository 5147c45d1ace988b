"""The fast statistics equal the plain ones to 1e-12: on random scores and on the published."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats import plain
from tests.unit.stats.random_scores import (
    SEEDS,
    format_with_errors,
    published_scores,
    random_scores,
)
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS
from workflow_scripts.settings.tables import ModelRow, read_table
from workflow_scripts.stats import score_errors
from workflow_scripts.stats.agreement import kendall_matrix
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.principal import explained_over_families, principal_components
from workflow_scripts.stats.ranks import rank_ranges
from workflow_scripts.stats.redraws import agree_with_redraw, ceiling_of_pairs, interval_drawn
from workflow_scripts.stats.shares import standard_error

ROOT = Path(__file__).parents[3]
# No cell missing, some, and most of them; digits after which scores are rounded, so that there are ties.
CASES = [(0.0, 6), (0.0, 0), (0.1, 1), (0.1, 6), (0.7, 0)]


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("gaps", "digits"), CASES)
def test_on_random_scores_with_ties_and_missing_cells(seed, gaps, digits, monkeypatch):
    models, tasks = 3 + 11 * seed, 2 + seed % 5
    scores = random_scores(seed, models, tasks, gaps=gaps, digits=digits)
    scores.iloc[0, 0], scores.iloc[:, 1] = np.nan, scores.iloc[:, 1].round(0)
    same(kendall_matrix(scores), plain.matrix(scores.to_numpy()))
    # Without an error a score is drawn as it is: those that were tied stay so.
    stderrs = scores * 0 + np.where(np.arange(tasks) % 2, 0.0, 0.3)
    errors = format_with_errors(scores, stderrs, 0.4, 0.1 * (seed % 2))
    monkeypatch.setattr(score_errors, "SAMPLE", models)
    same(agree_with_redraw(errors, 4, seed), plain.redrawn(errors, 4, seed))
    if models < 30:
        same(ceiling_of_pairs(errors, 4, seed), plain.ceilings(errors, 4, seed))
    found = interval_drawn(errors, draws=4, seed=seed)
    if not np.isnan(found).any():
        same(found, plain.over_items(errors, 4, seed))


def test_on_the_published_scores():
    scores = published_scores() / 100
    items = np.array([[TEST_ITEMS[task] for task in scores]], dtype=float)
    lowest = np.where(scores.columns == "cola", -1.0, 0.0)
    stderrs = pd.DataFrame(standard_error(scores, items, lowest), scores.index, scores.columns)
    same(kendall_matrix(scores), plain.matrix(scores.to_numpy()))
    errors = format_with_errors(scores, stderrs, 0.3, 0.01)
    same(interval_drawn(errors, draws=10, seed=1), plain.over_items(errors, 10, 1))
    same(agree_with_redraw(errors, 10, 1), plain.redrawn(errors, 10, 1))
    ends = rank_ranges(errors, 20, seed=1)[["low", "high"]]
    same(ends, plain.rank_ranges(errors, 20, 1))


def test_intervals_over_the_published_families():
    scores = published_scores() / 100
    known = read_table(ModelRow, ROOT / "config/models.tsv")
    families = pd.Series({name: known[name].family for name in scores.index})

    def mean(kept):
        return np.array(plain.mean_of_pairs(plain.matrix(scores[np.array(kept)].to_numpy())))

    reach = over_families(mean, families)
    assert (reach.groups, reach.of) == (6, "families")
    same((reach.low, reach.high), plain.over_families(mean, families.tolist()))

    def share(kept):
        return principal_components(scores[np.array(kept)]).explained_variance_ratio.iloc[0]

    found = explained_over_families(scores, families).loc["PC1", ["low", "high"]]
    same(found.astype(float), plain.over_families(share, families.tolist()))
