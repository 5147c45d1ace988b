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
    TASKS,
    grids,
    run_all,
    score,
    study,
    without,
)
from workflow_scripts.render.tables import read_table
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.scores.panel import panel_of
from workflow_scripts.scores.tidy import collect
from workflow_scripts.studies.ranking import (
    agreement,
    components,
    leaderboard,
    panel,
    significance,
    variance,
)
from workflow_scripts.studies.ranking.errors import KnownErrors
from workflow_scripts.studies.ranking.frame import FLOORED, OVERALL

PANEL = panel_of(LEADERBOARD, METRICS)
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


def test_a_model_that_lacks_most_tasks_is_not_ranked_and_the_table_says_why():
    scores = study()
    for task in ("rte", "mnli", "gsm8k"):
        scores = without(scores, MODELS[2], task, "train_before_test")
    table = rank(grids(scores))
    row = table[table["protocol"] == "train_before_test"].set_index("label").loc[MODELS[2]]
    assert row[["pc1", "rank"]].isna().all()
    assert (row["reason"], row["filled"]) == ("3 of 5 tasks missing", "")
    shown = leaderboard.format_columns(table, SETTINGS)
    assert "3 of 5 tasks missing: MNLI, RTE, GSM8K" in shown["Missing"]


def test_a_missing_standard_error_costs_no_range_and_is_counted():
    scores = study(DIRECT_ONLY)
    scores.loc[0, ["stderr", "n"]] = None
    table = rank(grids(scores, protocols=DIRECT_ONLY))
    assert table["rank_low"].notna().all()
    assert table.set_index("label")["errors_filled"].to_dict() == {
        model: int(model == MODELS[0]) for model in MODELS
    }


def test_a_task_that_was_not_asked_of_a_model_is_not_called_missing():
    imported = [read_imported(LEADERBOARD, METRICS)]
    scores = without(study(), MODELS[2], "rte", "train_before_test")
    table = rank(grids(scores, imported))
    table = table[table["protocol"] == "train_before_test"].set_index("label")
    assert table.loc[MODELS[0], "reason"] == "19 of 24 tasks not asked of it"
    assert table.loc[MODELS[0], "missing"] == ""
    both = "19 of 24 tasks not asked of it, 1 of 24 tasks missing"
    assert table.loc[MODELS[2], ["reason", "missing"]].tolist() == [both, "rte"]
    theirs = table[table["origin"] != "own"]
    assert theirs["rank"].notna().all()
    assert (theirs["reason"] == "").all()


def test_beyond_a_hundred_models_there_are_neighbours_alone_and_p_is_no_smaller(monkeypatch):
    scores = study()
    whole = significance.compute_significance(grids(scores))
    monkeypatch.setattr(significance, "ALL_PAIRS", len(MODELS) - 1)
    found = significance.compute_significance(grids(scores))
    neighbours = whole["second_place"] == whole["first_place"] + 1
    expected = whole[(whole["task"] == OVERALL) & neighbours].reset_index(drop=True)
    same = ["protocol", "first", "second", "difference", "stderr", "p", "tasks"]
    pd.testing.assert_frame_equal(found[same], expected[same], check_dtype=False)
    pairs = len(MODELS) * (len(MODELS) - 1) / 2
    assert found["p_holm"].to_numpy() == pytest.approx(
        (pairs * found["p"]).clip(upper=1), nan_ok=True
    )
    assert not (found["p_holm"] < expected["p_holm"]).any()
    assert (found["won"] <= expected["won"]).all()


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


def test_a_ceiling_is_of_the_pairs_that_the_mean_beside_it_is_of():
    scores = study()
    flat = (scores["task"] == "cola") & (scores["protocol"] == "direct")
    scores["value"] = scores["value"].mask(flat, 0.5)  # all models tie: it agrees with nothing
    noisy = scores["stderr"].where(~flat, 0.2)
    without_cola = grids(scores[~flat], tasks=[task for task in TASKS if task != "cola"])
    of_all, of_rest = (
        agree(made).set_index(["protocol", "statistic"])["value"]
        for made in (grids(scores.assign(stderr=noisy)), without_cola)
    )
    assert of_all["direct", "mean"] == pytest.approx(of_rest["direct", "mean"])
    assert of_all["direct", "ceiling"] == pytest.approx(of_rest["direct", "ceiling"], abs=0.05)
    lacking = scores.assign(stderr=scores["stderr"].where(scores["task"] != "rte"), n=pd.NA)
    none = agree(grids(lacking.astype(COLUMNS)))
    told = none[none["statistic"].isin(["ceiling", "task_ceiling", "own_redraw"])]
    assert len(told)
    assert told["value"].isna().all(), "the mean is of rte too, whose noise is not known"


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


def test_a_run_of_several_seeds_knows_what_a_training_is_worth():
    """Seeds of a cell become their mean, whose error holds what they lie apart."""
    generator = np.random.default_rng(4)
    rows = [
        score(model, task, "train_before_test", 0.5 + 0.03 * generator.standard_normal(), seed=seed)
        for model in MODELS
        for task in TASKS
        for seed in range(4)
    ]
    grid = grids(make_scores(rows), protocols=("train_before_test",))["train_before_test"]
    of_training = grid.errors.training.to_numpy()
    assert of_training.mean() == pytest.approx(0.03 / 4**0.5, rel=0.15)
    assert (grid.stderrs.to_numpy() > of_training).all()


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


def test_the_panel_places_own_models_and_says_by_which_protocol_and_on_how_many_tasks():
    imported = [read_imported(LEADERBOARD, METRICS)]
    table = place(grids(study(), imported))
    assert set(table["origin"]) == {"own"}, "the panel's own rows are not placed on it"
    assert len(table) == 3 * len(MODELS)
    assert (table["tasks"] == len(TASKS)).all()
    assert (table["low"] < table["pc1"]).all()
    assert (table["best_rank"] <= table["rank"]).all()
    assert table["coverage"].between(0.85, 1).all()
    direct = table[table["protocol"] == "direct"]
    assert direct["caution"].str.contains("lower bound").all()


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
    assert row["neighbours"].split()[0] == "google/gemma-2-2b"


def test_seeds_part_the_variance_of_training_from_that_of_items():
    generator = np.random.default_rng(0)
    trained = study(("train_before_test",))
    twice = trained.assign(seed=1, value=trained["value"] + 0.1 * generator.random(len(trained)))
    once, both = (
        variance.compute_variance(grids(scores), SETTINGS)
        .set_index("protocol")
        .loc["train_before_test"]
        for scores in (trained, pd.concat([trained, twice], ignore_index=True))
    )
    assert np.isnan(once["training"])
    assert once["items"] > 0
    assert both["training"] > 0
    assert both["items"] == pytest.approx(once["items"], rel=0.5), "seeds answer the same items"


@pytest.mark.parametrize("case", ["one cell", "two models", "three protocols"])
def test_every_table_and_figure_can_be_made_from_little_and_from_much(tmp_path, case):
    three = (*BOTH, "few_shot")
    scores, protocols = {
        "one cell": (study().iloc[:1], DIRECT_ONLY),
        "two models": (study(DIRECT_ONLY, MODELS[:2], TASKS[:2]), DIRECT_ONLY),
        "three protocols": (study(three), three),
    }[case]
    made = grids(scores, protocols=protocols)
    run_all(made, tmp_path)
    ranking = read_table(tmp_path / "leaderboard.csv")
    assert ranking["protocol"].nunique() == (4 if case == "three protocols" else 1)
    placed = read_table(tmp_path / "panel.csv")
    assert len(placed) == sum(grid.values.notna().any(axis=1).sum() for grid in made.values())
