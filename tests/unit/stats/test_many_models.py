"""What is computed otherwise of very many models is near what it would be: samples, groups, fewer draws."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import SEEDS, random_scores, with_errors
from workflow_scripts.stats import normal_rows, ranks, score_errors
from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.noise import ceiling_of_pairs
from workflow_scripts.stats.variance import unexplained


def test_the_interval_of_a_mean_over_many_models_is_as_wide_when_they_are_dealt_into_groups():
    values = np.random.default_rng(0).standard_normal(2000)
    unknown = pd.Series([None] * 2000, dtype=object)
    found = over_families(lambda kept: np.array(values[kept].mean()), unknown)
    assert (found.groups, found.of) == (24, "groups")
    assert (found.high - found.low) / 2 == pytest.approx(1.96 / 2000**0.5, rel=0.4)
    few = over_families(lambda kept: np.array(values[:60][kept].mean()), unknown[:60])
    assert (few.groups, few.of) == (60, "families")


def test_ceilings_of_a_sample_are_near_those_of_all_models(monkeypatch):
    scores = random_scores(4, 250, 4, gaps=0.1, digits=6)
    errors = with_errors(scores, scores * 0 + 0.3, 0.3)
    monkeypatch.setattr(score_errors, "SAMPLE", 120)
    assert len(errors.sampled().scores) == 120
    assert errors.sampled().scores.equals(errors.sampled().scores)
    some = ceiling_of_pairs(errors, 50)
    monkeypatch.setattr(score_errors, "SAMPLE", 250)
    assert errors.sampled() is errors
    assert np.abs(some - ceiling_of_pairs(errors, 50)).to_numpy().max() < 0.05


def test_cells_are_estimated_alike_from_a_sample_of_the_rows(monkeypatch):
    scores = random_scores(6, 500, 6, gaps=0.1, digits=6).to_numpy()
    whole, unsure = normal_rows.estimated(scores)
    monkeypatch.setattr(normal_rows, "_LEARNT_FROM", 250)
    some, _ = normal_rows.estimated(scores)
    gaps = np.isnan(scores)
    assert not (some == whole)[gaps].all()
    assert np.sqrt(np.mean((some - whole)[gaps] ** 2)) < 0.3 * np.mean(unsure[gaps])


def test_fewer_draws_leave_ranges_of_ranks_where_they_are(monkeypatch):
    scores = random_scores(2, 40, 6, digits=6)
    errors = with_errors(scores, scores * 0 + 0.3)
    whole = ranks.rank_ranges(errors, draws=1000)
    monkeypatch.setattr(ranks, "MOST_RANKS", 40)
    assert (ranks.rank_ranges(errors, draws=1000) - whole).abs().mean(axis=None) < 1


def test_errors_of_some_pairs_are_those_of_all_pairs():
    drawn = np.random.default_rng(3)
    errors = ItemErrors(drawn.standard_normal((30, 3)), drawn.uniform(0, 1, 30))
    every = np.divmod(np.arange(900), 30)
    first, second = np.arange(29), np.arange(1, 30)
    of_all = errors.of_difference(*every).reshape(30, 30)
    assert errors.of_difference(first, second) == pytest.approx(of_all[first, second])


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_unexplained_is_what_least_squares_on_models_and_tasks_leaves(seed):
    scores = random_scores(seed, 12, 5, gaps=0.4, digits=3).to_numpy(copy=True)
    if seed % 2:  # two parts that no score joins
        scores[:6, :2], scores[6:, 2:] = np.nan, np.nan
    rows, columns = np.nonzero(~np.isnan(scores))
    design = np.hstack([np.eye(12)[rows], np.eye(5)[columns]])
    effects, _, rank, _ = np.linalg.lstsq(design, scores[rows, columns], rcond=None)
    rest = ((scores[rows, columns] - design @ effects) ** 2).sum()
    assert unexplained(scores) == pytest.approx(rest / (len(rows) - rank))
