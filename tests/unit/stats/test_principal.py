"""Principal components, ranks and intervals over families: the published leaderboard, scikit-learn and plain loops."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.decomposition import PCA

from tests.unit.stats.random_scores import (
    format_with_errors,
    published,
    published_scores,
    random_scores,
    read_families,
)
from workflow_scripts.stats.few_tasks import chosen
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.principal import explained_over_families, principal_components
from workflow_scripts.stats.ranks import rank_ranges, ranks, tiers

SWAPPED = ["01-ai/Yi-1.5-6B", "01-ai/Yi-1.5-6B-Chat"]


def test_the_published_leaderboard_follows_from_its_24_columns():
    components = principal_components(published_scores())
    pc1 = components.scores["PC1"]
    assert (pc1 - published()["pc1"]).abs().max() < 0.1
    differing = ranks(pc1).ne(published()["rank"])
    assert sorted(differing.index[differing]) == SWAPPED
    assert components.explained_variance_ratio["PC1"] == pytest.approx(0.8546, abs=5e-5)


@pytest.mark.parametrize("seed", range(4))
def test_components_are_scikit_learns_up_to_their_sign(seed):
    scores = random_scores(seed, models=15, tasks=6)
    standard = (scores - scores.mean()) / scores.std(ddof=0)
    reference = PCA().fit(standard)
    values, ratios, loadings = principal_components(scores)
    assert ratios.to_numpy() == pytest.approx(reference.explained_variance_ratio_)
    expected = 100 * np.abs(reference.transform(standard))
    assert np.abs(values.to_numpy()) == pytest.approx(expected, abs=1e-8)
    assert (loadings.sum() > 0).all(), "better on most tasks is larger"
    assert (100 * standard @ loadings).to_numpy() == pytest.approx(values.to_numpy())


def jackknife(statistic, families: np.ndarray) -> tuple[float, float]:
    """Compute the jackknife for groups of unequal size (Busing, Meijer and van der Leeden 1999)."""
    n, names = len(families), sorted(set(families))
    whole = statistic(np.full(n, True))
    parts = [((families == name).sum(), statistic(families != name)) for name in names]
    estimate = len(names) * whole - sum((1 - m / n) * x for m, x in parts)
    variance = 0.0
    for m, x in parts:
        h = n / m
        variance += (h * whole - (h - 1) * x - estimate) ** 2 / (h - 1) / len(names)
    half_width = t.ppf(0.975, len(names) - 1) * variance**0.5
    return whole - half_width, whole + half_width


def test_intervals_over_the_published_families():
    scores = published_scores()
    families = read_families().reindex(scores.index)

    def share(mask):
        return principal_components(scores[mask]).explained_variance_ratio.iloc[0]

    row = explained_over_families(scores, families).loc["PC1"]
    expected = jackknife(share, families.to_numpy())
    assert tuple(row[["low", "high"]]) == pytest.approx(expected, abs=1e-12)
    assert (row["groups"], row["of"]) == (6, "families")


@pytest.mark.parametrize(
    ("families", "groups", "unit"),
    [
        (["Qwen"] * 5, 5, "models"),
        (["Qwen", None, None, "Yi", "Yi"], 4, "families"),
        (["Qwen", "Yi"], 2, "models"),
    ],
)
def test_too_few_families_leave_models_out_and_two_models_have_no_interval(families, groups, unit):
    values = np.arange(float(len(families)))
    reach = over_families(lambda mask: values[mask].mean(), pd.Series(families))
    assert (reach.groups, reach.of) == (groups, unit)
    assert reach.low < values.mean() < reach.high or (groups == 2 and np.isnan(reach.low))


def test_a_copy_of_a_model_shares_its_rank():
    scores = published_scores()
    for row in (0, 20, 40):
        twins = scores.iloc[[*range(len(scores)), row]].reset_index(drop=True)
        places = ranks(principal_components(twins).scores["PC1"])
        assert places.iloc[row] == places.iloc[-1] and places.nunique() == len(scores)
        ranges = rank_ranges(format_with_errors(twins, twins * 0), draws=2)[["low", "high"]]
        assert (ranges.loc[row] == ranges.loc[len(scores)]).all()


def test_ranges_are_quantiles_of_redrawn_ranks_and_joint_ones_hold_all_ranks_at_once():
    truth = random_scores(4, models=14, tasks=8, digits=6)
    true_ranks = ranks(principal_components(truth).scores["PC1"])
    generator = np.random.default_rng(3)
    alone, jointly = [], []
    for seed in range(40):
        scores = truth + 0.15 * generator.standard_normal(truth.shape)
        errors = format_with_errors(scores, truth * 0 + 0.15)
        ranges = rank_ranges(errors, draws=60, seed=seed)
        alone.append(true_ranks.between(ranges["low"], ranges["high"]).all())
        jointly.append(true_ranks.between(ranges["joint_low"], ranges["joint_high"]).all())
    assert np.mean(alone) < np.mean(jointly) and np.mean(jointly) >= 0.9
    samples = [
        ranks(principal_components(pd.DataFrame(sample)).scores["PC1"])
        for sample in errors.drawn(60, seed)
    ]
    measured = ranks(principal_components(scores).scores["PC1"])
    low, high = np.rint(np.quantile(samples, [0.025, 0.975], axis=0))
    assert (ranges["low"] == np.minimum(low, measured)).all()
    assert (ranges["high"] == np.maximum(high, measured)).all()


def test_a_tier_ends_where_a_best_rank_is_worse_than_the_worst_of_its_first():
    low, high = pd.Series([1.0, 1, 3, 4, 6]), pd.Series([2.0, 3, 5, 6, 6])
    assert tiers(low, high).tolist() == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(("seed", "budget"), [(0, 0.3), (1, 0.6), (2, 1.0)])
def test_of_all_sets_of_tasks_that_the_budget_allows_few_leave_less_variance(seed, budget):
    generator = np.random.default_rng([39, seed])
    ability, noise = generator.normal(size=(40, 2)), generator.normal(size=(40, 7))
    values = ability @ generator.normal(1, 0.5, (2, 7)) + noise * generator.uniform(0.2, 1.5, 7)
    scores, prices = pd.DataFrame(values), pd.Series(generator.uniform(0.05, 0.4, 7))
    standard = ((scores - scores.mean()) / scores.std(ddof=0)).to_numpy()
    component = principal_components(scores).scores["PC1"].to_numpy()

    def rest(tasks) -> float:
        part = standard[:, list(tasks)]
        return ((component - part @ np.linalg.lstsq(part, component)[0]) ** 2).sum()

    tasks = chosen(scores, prices, budget)
    assert prices[tasks].sum() <= budget
    sets = chain.from_iterable(combinations(scores, size) for size in range(1, 8))
    rests = [rest(others) for others in sets if prices[list(others)].sum() <= budget]
    # It shrinks the correlations, which this reference does not.
    assert np.mean(np.array(rests) < rest(tasks) * (1 - 1e-9)) <= 0.1
