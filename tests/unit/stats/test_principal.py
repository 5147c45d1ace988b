"""Compare principal components, ranks and family intervals with the published leaderboard and plain loops."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from tests.unit.stats.random_scores import (
    build_score_errors,
    make_random_scores,
    read_families,
    read_leaderboard,
    read_published_scores,
)
from workflow_scripts.stats.jackknife import compute_family_jackknife
from workflow_scripts.stats.principal import (
    compute_principal_components,
    compute_variance_intervals,
)
from workflow_scripts.stats.ranks import compute_rank_ranges, rank_values

SWAPPED = ["01-ai/Yi-1.5-6B", "01-ai/Yi-1.5-6B-Chat"]


def test_components_match_published_leaderboard():
    components = compute_principal_components(read_published_scores())
    pc1 = components.scores["PC1"]
    assert (pc1 - read_leaderboard()["pc1"]).abs().max() < 0.1
    differing = rank_values(pc1).ne(read_leaderboard()["rank"])
    assert sorted(differing.index[differing]) == SWAPPED
    assert components.explained_variance_ratio["PC1"] == pytest.approx(0.8546, abs=5e-5)


def compute_jackknife(statistic, families: np.ndarray) -> tuple[float, float]:
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


def test_published_family_intervals():
    scores = read_published_scores()
    families = read_families().reindex(scores.index)

    def compute_share(mask):
        return compute_principal_components(scores[mask]).explained_variance_ratio.iloc[0]

    row = compute_variance_intervals(scores, families).loc["PC1"]
    expected = compute_jackknife(compute_share, families.to_numpy())
    assert tuple(row[["low", "high"]]) == pytest.approx(expected, abs=1e-12)
    assert (row["groups"], row["of"]) == (6, "families")


@pytest.mark.parametrize(
    ("families", "groups", "unit"),
    [(["Qwen"] * 5, 5, "models"), (["Qwen", None, None, "Yi", "Yi"], 4, "families")],
)
def test_jackknife_with_few_families(families, groups, unit):
    values = np.arange(5.0)
    interval = compute_family_jackknife(lambda mask: values[mask].mean(), pd.Series(families))
    assert (interval.groups, interval.unit) == (groups, unit)
    assert interval.low < values.mean() < interval.high


def test_rank_ranges_match_redrawn_ranks():
    scores = make_random_scores(4, models=14, tasks=8, digits=6)
    errors = build_score_errors(scores, scores * 0 + 0.15)
    ranges = compute_rank_ranges(errors, draws=60, seed=3)
    samples = [
        rank_values(compute_principal_components(pd.DataFrame(sample)).scores["PC1"])
        for sample in errors.draw_scores(60, 3)
    ]
    measured = rank_values(compute_principal_components(scores).scores["PC1"])
    low, high = np.rint(np.quantile(samples, [0.025, 0.975], axis=0))
    assert (ranges["low"] == np.minimum(low, measured)).all()
    assert (ranges["high"] == np.maximum(high, measured)).all()
