"""The tables of the ranking study: right numbers, said what they are, nothing filled."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from tests.records import make_scores, write_example
from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    LEADERBOARD,
    METRICS,
    MODEL_ROWS,
    MODELS,
    SETTINGS,
    grids,
    run_all,
    score,
    study,
    without,
)
from workflow_scripts.render.tables import read_table
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.scores.panel import read_panel_scores
from workflow_scripts.scores.tidy import collect
from workflow_scripts.studies.ranking import (
    agreement,
    components,
    leaderboard,
    panel,
    significance,
)
from workflow_scripts.studies.ranking.errors import KnownErrors
from workflow_scripts.studies.ranking.frame import FLOORED, OVERALL

PANEL = read_panel_scores(LEADERBOARD, METRICS)
FAMILIES = pd.Series({row.model: row.family for row in MODEL_ROWS})
DIRECT_ONLY = ("direct",)


def rank(made):
    return leaderboard.compute_leaderboard(made, 30, 0)


def agree(made):
    return agreement.compute_agreement(made, SETTINGS, 30, 0)


def place(made):
    return panel.place_models(made, PANEL, SETTINGS, FAMILIES)


def test_the_imported_leaderboard_gets_its_published_components_and_ranks():
    imported = [read_imported(LEADERBOARD, METRICS)]
    found = rank(grids(study().iloc[:0], imported, protocols=())).set_index("model")
    printed = pd.read_csv(LEADERBOARD, index_col="model")
    assert (found["pc1"] - printed["pc1"]).abs().max() < 0.1
    differing = found["rank"].reindex(printed.index) != printed["rank"]
    assert set(printed.index[differing]) == {"01-ai/Yi-1.5-6B", "01-ai/Yi-1.5-6B-Chat"}
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank"] <= found["rank_high"]).all()
    found_components = components.compute_components(
        grids(study().iloc[:0], imported, protocols=()), SETTINGS, 0
    )
    assert found_components["share"].iloc[0] == pytest.approx(0.8546, abs=5e-5)


def test_a_model_with_a_missing_cell_is_ranked_by_an_estimate_and_the_table_says_so():
    scores = without(study(), MODELS[2], "rte", "train_before_test")
    table = rank(grids(scores))
    trained = table[table["protocol"] == "train_before_test"].set_index("label")
    estimated = trained.loc[MODELS[2]]
    assert estimated[["filled", "missing", "reason"]].tolist() == ["rte", "rte", ""]
    assert np.isnan(estimated["rte"]), "no estimate is shown as a score"
    assert sorted(trained["rank"]) == [1, 2, 3, 4, 5, 6]
    assert estimated["rank_low"] <= 4 <= estimated["rank_high"], (
        "it is the fourth best by how it was made"
    )
    others = trained.drop(index=MODELS[2])
    assert (others["filled"] == "").all()
    shown = pd.DataFrame(leaderboard.format_columns(table, SETTINGS))
    (line,) = shown[(table["protocol"] == "train_before_test") & (table["filled"] != "")].index
    assert shown.loc[line, "Missing"] == "estimated: RTE"
    assert shown.loc[line, "Rank"].startswith(f"{estimated['rank']:.0f}† (")
    found = components.compute_components(grids(scores), SETTINGS, 0)
    assert found.groupby("protocol")["filled"].first().to_dict() == {
        **{"direct": 0, "train_before_test": 1, FLOORED: 1}
    }
    assert (found["models"] == 6).all()


def test_agreement_is_that_of_the_scores_and_compared_over_the_same_cells():
    scores = without(study(), MODELS[1], "mnli", "train_before_test")
    made = grids(scores)
    table = agree(made)
    pairs = table[(table["statistic"] == "pair") & (table["protocol"] == "direct")]
    assert len(pairs) == 10
    for row in pairs.itertuples():
        both = made["direct"].values[[row.first, row.second]]
        assert row.value == pytest.approx(kendalltau(*both.to_numpy().T).statistic)
    of = table.set_index(["protocol", "statistic"])["value"]
    assert of["direct", "mean"] == pytest.approx(pairs["value"].mean())
    direct = made["direct"].values.mask(made["train_before_test"].values.isna())

    def mean(values):
        taus = [
            kendalltau(*values[[a, b]].dropna().to_numpy().T).statistic
            for at, a in enumerate(values)
            for b in values.columns[at + 1 :]
        ]
        return np.mean(taus)

    expected = mean(made["train_before_test"].values) - mean(direct)
    assert of["train_before_test", "difference_from_direct"] == pytest.approx(expected)
    assert 0 < of["train_before_test", "share_improving_on_direct"] <= 1
    assert of["train_before_test", "mean"] > of["direct", "mean"]
    assert ("direct", "difference_from_direct") not in of.index


def test_two_models_are_compared_on_the_items_that_both_answered(tmp_path):
    """The error of a difference is that of its items one by one, and another is each model's without items."""
    golds = [
        tuple("01"[(5 * item + at * item) % (3 + at) == 0] for item in range(30)) for at in (0, 1)
    ]
    records = []
    for at, model in enumerate(MODELS[:2]):
        path = tmp_path / f"{at}.json"
        value = float(np.mean(right := [gold == "0" for gold in golds[at]]))
        records.append(
            (path, write_example(path, model=model, task="rte", golds=golds[at], value=value))
        )
    measured = item_errors(records).assign(label=MODELS[:2])
    scores = collect(record for _, record in records)
    asked = {"protocols": DIRECT_ONLY, "models": MODELS[:2], "tasks": ["rte"]}
    known = KnownErrors({}, measured)
    (row,) = (
        significance.compute_significance(grids(scores, **asked, known=known))
        .query("task == 'rte'")
        .to_dict("records")
    )
    right = np.array([[gold == "0" for gold in of] for of in golds], dtype=float)
    apart = right[0] - right[1]
    assert abs(row["difference"]) == pytest.approx(abs(apart.mean()))
    assert row["stderr"] == pytest.approx(apart.std(ddof=1) / 30**0.5, rel=0.02)
    (alone,) = (
        significance.compute_significance(grids(scores, **asked))
        .query("task == 'rte'")
        .to_dict("records")
    )
    assert alone["stderr"] == pytest.approx(2**0.5 * 0.1)


def test_overall_is_the_mean_difference_and_counts_tasks_won_and_lost():
    rows = []
    for task, (one, other) in {"rte": (0.9, 0.5), "mnli": (0.5, 0.6), "cola": (0.5, 0.5)}.items():
        rows.append(score("miniature/Llama-1.4M", task, "direct", one, stderr=0.01))
        rows.append(score("miniature/Llama-0.3M", task, "direct", other, stderr=0.01))
    table = significance.compute_significance(
        grids(
            make_scores(rows),
            protocols=DIRECT_ONLY,
            models=MODELS[4:],
            tasks=["rte", "mnli", "cola"],
        )
    )
    overall = table[table["task"] == OVERALL].iloc[0]
    assert overall["first"] == "miniature/Llama-1.4M"
    assert overall["difference"] == pytest.approx(0.1)
    assert overall["stderr"] == pytest.approx(np.sqrt(6 * 0.01**2) / 3)
    assert (overall["tasks"], overall["won"], overall["lost"]) == (3, 1, 1)


def test_a_panel_model_measured_again_is_placed_where_it_stands():
    again = make_scores(
        [
            score("google/gemma-2-2b", task, "train_before_test", float(value) + 1e-3)
            for task, value in PANEL.scores.loc["google/gemma-2-2b"].items()
        ]
    )
    table = place(grids(again, protocols=()))
    (row,) = table.to_dict("records")
    assert row["low"] < 175.76 < row["high"]
    assert abs(row["rank"] - 31) <= 1


@pytest.mark.parametrize("case", ["one cell", "three protocols"])
def test_every_table_and_figure_can_be_made_from_little_and_from_much(tmp_path, case):
    three = (*BOTH, "few_shot")
    scores, protocols = {
        "one cell": (study().iloc[:1], DIRECT_ONLY),
        "three protocols": (study(three), three),
    }[case]
    made = grids(scores, protocols=protocols)
    run_all(made, tmp_path)
    ranking = read_table(tmp_path / "leaderboard.csv")
    assert ranking["protocol"].nunique() == (4 if case == "three protocols" else 1)
    placed = read_table(tmp_path / "panel.csv")
    assert len(placed) == sum(grid.values.notna().any(axis=1).sum() for grid in made.values())
