"""The published train-before-test grid beside ours: both releases, score by score and task by task."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.records import make_scores
from tests.unit.settings.merged import load
from tests.unit.studies.harmony.harmony_study import METRICS, grids
from workflow_scripts.paper.reproduction_by_task import ADDED, compute_by_task
from workflow_scripts.render.verdict import (
    BY_LUCK,
    DIFFERS,
    GENERATED,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_MEASURED,
    make_table,
)
from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.scores.published_leaderboard import LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.stats.reruns import Reruns, size_band
from workflow_scripts.studies.harmony.published import (
    AFTER_TRAINING,
    NO_FLOOR,
    compare_cells,
    compare_harmony,
)
from workflow_scripts.studies.harmony.requests import (
    HarmonyComparison,
    harmony_comparison,
)
from workflow_scripts.studies.ranking.errors import estimate_reruns
from workflow_scripts.studies.ranking.frame import FLOORED
from workflow_scripts.studies.ranking.leaderboard import compute_leaderboard

MOST_OF_A_KIND = 0.08  # of scores that differ by luck, in any family or size
PUBLISHED = Path(__file__).parents[3] / "resources/published"


def panel() -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / "harmony_leaderboard.csv")


def our_leaderboard() -> pd.DataFrame:
    """The published leaderboard as if we had measured it."""
    table = panel()
    tasks = [column for column in table if column not in LEADING_COLUMNS]
    table[tasks] /= 100
    table = table.join(pd.DataFrame(0.01, table.index, [f"{task}_stderr" for task in tasks]))
    return table.assign(
        protocol="train_before_test_floored",
        origin="own",
        variant=None,
        rank_low=table["rank"] - 1,
        rank_high=table["rank"] + 1,
    )


def compared_panel(ours: pd.DataFrame | None, **changes) -> pd.DataFrame:
    return make_table(compare_harmony(panel(), ours, harmony_settings(**changes), reruns()))


@cache
def known_models() -> tuple[KnownModel, ...]:
    return harmony_comparison(load({})).models


@cache
def reruns() -> Reruns:
    return estimate_reruns(panel(), pd.read_csv(PUBLISHED / "harmony_cells.csv"), known_models())


def harmony_settings(**changes) -> HarmonyComparison:
    return HarmonyComparison.of({"source": "huggingface", "margin": 0.02, **changes})


def test_every_number_of_the_leaderboard_is_compared():
    table = compared_panel(our_leaderboard())
    assert len(table) == 61 * 26
    assert table.loc[table["item"] != "PC1", "verdict"].eq(INCONCLUSIVE).all()
    assert "no standard error" in table.loc[table["item"] == "PC1", "because"].iloc[0]


def test_a_cell_and_a_rank_that_differ_differ_alone():
    ours = our_leaderboard()
    ours.loc[0, "cola"] += 0.1
    ours.loc[1, ["rank_low", "rank_high"]] = 7
    differing = compared_panel(ours).query("verdict == @DIFFERS")
    assert list(zip(differing["of"], differing["item"], strict=True)) == [
        (ours.loc[0, "model"], "cola"),
        (ours.loc[1, "model"], "rank"),
    ]


def test_a_part_of_the_panel_has_scores_to_compare_and_no_ranks():
    table = compared_panel(our_leaderboard().head(5))
    ranks = table[table["item"] == "rank"]
    assert set(ranks["verdict"]) == {NOT_COMPARABLE}
    assert set(ranks["because"].head(5)) == {
        "it depends on all models and tasks, and here the grid is another"
    }
    scores = table[table["metric"] == "score"]
    assert (scores["verdict"] == INCONCLUSIVE).sum() == 5 * 24
    assert set(scores["because"].dropna()) == {NOT_MEASURED}


def run_again(models: list[str], shift: float = 0.0) -> pd.DataFrame:
    """The authors' other release as our run: the leaderboard's own scores where that has no more."""
    ours = our_leaderboard().set_index("model")
    cells = pd.read_csv(PUBLISHED / "harmony_cells.csv").query("protocol == 'train_before_test'")
    tasks = [task for task in TEST_ITEMS if task in ours]
    again = cells.pivot(index="model", columns="task", values="value").loc[ours.index, tasks]
    ours[tasks] = again + shift
    return ours.loc[models].reset_index()


def test_a_release_of_the_authors_differs_from_the_other_as_seldom_as_stated():
    """Some models at a time, judged by what the others say of trainings, of families and of sizes."""
    cells, found = pd.read_csv(PUBLISHED / "harmony_cells.csv"), []
    for at in range(15):
        models = panel()["model"].tolist()[at::15]
        others = estimate_reruns(panel().query("model not in @models"), cells, known_models())
        these = panel().query("model in @models")
        rows = compare_harmony(these, run_again(models), harmony_settings(), others)
        scores = make_table(rows).query("metric == @AFTER_TRAINING").set_index(["of", "item"])
        twice = reruns().differences.loc[models].stack().dropna().index
        found.append((scores["verdict"] == DIFFERS).reindex(twice).rename("differing"))
    about = pd.DataFrame(map(dict, known_models()))
    scores = pd.concat(found).rename_axis(["model", "task"]).reset_index().merge(about, on="model")
    assert len(scores) == 1082
    assert 0.7 * BY_LUCK <= scores["differing"].mean() <= BY_LUCK
    for kind in (scores["family"], scores["parameters"].map(size_band)):
        assert scores["differing"].groupby(kind).mean().max() <= MOST_OF_A_KIND


def their_cells() -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / "harmony_cells.csv")


def our_cells(protocol: str, moved: float = 0.0) -> pd.DataFrame:
    """The authors' second release as our run; their scores after training are floored."""
    theirs = "direct" if protocol == "direct" else "train_before_test"
    rows = their_cells()[lambda cells: cells["protocol"] == theirs]
    wide = rows.pivot(index="model", columns="task", values="value")
    return (wide + moved).reset_index().assign(protocol=protocol, origin="own", variant=None)


def compared_cells(ours: pd.DataFrame | None, **changes) -> pd.DataFrame:
    return make_table(compare_cells(their_cells(), ours, harmony_settings(**changes), reruns()))


def test_every_score_of_the_second_release_is_compared_under_its_own_protocol():
    table = compared_cells(our_cells("direct"))
    assert len(table) == 61 * 24 * 2
    direct = table["metric"] == "direct"
    assert set(table.loc[direct, "verdict"]) == {INCONCLUSIVE}
    assert set(table.loc[~direct, "because"]) == {NOT_MEASURED}
    assert set(compared_cells(our_cells("direct"), source="miniature")["because"]) == {GENERATED}


def test_a_score_without_training_may_differ_by_a_few_answers_alone():
    for answers, expected in ((0.001, INCONCLUSIVE), (0.003, DIFFERS)):
        table = compared_cells(our_cells("direct", moved=answers)).query("metric == 'direct'")
        verdicts = table.set_index(["item", "of"])["verdict"]
        assert set(verdicts["sciq"]) == {expected}  # of 1,000 items
    trained = compared_cells(our_cells(FLOORED, moved=0.003))
    assert set(trained.query("item == 'sciq' and metric == 'score'")["verdict"]) == {INCONCLUSIVE}


def test_ours_are_floored_as_theirs_are_before_they_are_compared():
    """A training that made a model worse: they show its direct score, and our raw one would differ."""
    cells = their_cells()[lambda rows: rows["metric"] != "bits_per_byte"]
    wide = cells.pivot(index=["model", "task"], columns="protocol", values="value")
    at_floor = wide.index[wide["train_before_test"] == wide["direct"]]
    worse = cells.set_index(["model", "task"]).index.isin(at_floor)
    worse &= cells["protocol"] == "train_before_test"
    cells.loc[worse, "value"] -= 0.2
    metric = cells["task"].map(METRICS)
    ours = make_scores(cells.assign(study="harmony", variant="", metric=metric).to_dict("records"))
    table = compared_cells(compute_leaderboard(grids(ours, protocols=()), 10, 0))
    trained = table.query("metric == 'score'").set_index(["of", "item"])
    assert len(at_floor) == 48
    assert (trained.loc[at_floor, "ours"] == trained.loc[at_floor, "published"]).all()
    assert set(trained["verdict"]) == {INCONCLUSIVE}
    alone = compared_cells(our_cells("train_before_test")).query("metric == 'score'")
    assert set(alone["because"]) == {NO_FLOOR}, "without a direct score nothing floors it"


def rerun_drawn(seed: int) -> pd.DataFrame:
    """A run of the published protocol that was never made: each score moved by what the pair says of its task.

    A part moves the whole task, and each training has its own, of the sizes and tails that the pair has.
    """
    pair, generator = reruns(), np.random.default_rng(seed)
    around = ((pair.differences - pair.differences.median()) / pair.usual).stack().dropna()
    ours = our_leaderboard()
    for task in TEST_ITEMS:
        own = generator.choice(around, len(ours)) * generator.choice([-1, 1], len(ours))
        whole = pair.shift * generator.standard_normal()
        ours[task] += pair.usual[task] * (whole + own)
    return ours


def test_a_rerun_that_was_drawn_differs_as_seldom_as_stated():
    rows = pd.concat([compared_panel(rerun_drawn(seed)) for seed in range(10)])
    scores = rows[rows["metric"] == AFTER_TRAINING]
    differing = (scores["verdict"] == DIFFERS).groupby(scores["item"]).mean()
    assert 0.5 * BY_LUCK < differing.mean() <= BY_LUCK
    tasks = pd.concat([tasks_compared(rerun_drawn(seed)) for seed in range(10)])
    assert (tasks["verdict"] == DIFFERS).mean() <= BY_LUCK


@pytest.mark.parametrize("task", ["piqa", "hellaswag", "sst2", "arc_easy"])
def test_three_points_added_to_a_task_of_such_a_rerun_are_caught(task):
    for seed in range(5):
        ours = rerun_drawn(seed)
        without = tasks_compared(ours)["verdict"]
        ours[task] += 0.03
        table = tasks_compared(ours)
        assert table.loc[task, "verdict"] == DIFFERS
        assert table["verdict"].drop(task).equals(without.drop(task))


# --- Tasks over all models


def tasks_compared(ours: pd.DataFrame | None) -> pd.DataFrame:
    return compute_by_task(compared_panel(ours), reruns()).set_index("task")


def test_no_task_of_the_authors_other_release_differs():
    table = tasks_compared(run_again(panel()["model"].tolist()))
    assert len(table) == 24
    assert set(table["verdict"]) == {INCONCLUSIVE}
    assert (table["models"] == 61).all()


@pytest.mark.parametrize("points", [0.03, -0.03])
def test_three_points_on_a_task_are_caught_on_three_tasks_of_four(points):
    models = panel()["model"].tolist()
    ours = our_leaderboard().set_index("model")
    ours[list(TEST_ITEMS)] += points
    table = tasks_compared(ours.loc[models].reset_index())
    caught = table["verdict"] == DIFFERS
    assert caught.sum() >= 18
    assert (caught == (table["task_limit"] < ADDED)).all()
    # Where they are not, the authors' own releases lie more than a point apart.
    assert (table.loc[~caught, "usual"] > 0.028).all()


def test_few_models_are_no_measure_of_a_task():
    table = tasks_compared(our_leaderboard().head(4))
    assert set(table["because"]) == {"fewer than 5 models"}
    assert set(tasks_compared(None)["because"]) == {NOT_MEASURED}


def test_imported_and_direct_scores_are_not_ours():
    ours = our_leaderboard()
    for changes in ({"origin": "harmony_leaderboard"}, {"protocol": "direct"}):
        table = compared_panel(ours.assign(**changes))
        assert set(table["because"]) == {NOT_MEASURED}


def test_one_answer_is_no_difference_where_a_model_answers_always_the_same():
    """Pythia-70M says of every sentence of CoLA the same: one other answer moves its score by .046."""
    cells = pd.read_csv(PUBLISHED / "harmony_cells.csv").query("model.str.contains('pythia-70m')")
    assert cells.query("task == 'cola'")["value"].eq(0).all()
    ours = our_leaderboard().query("model.str.contains('pythia-70m')")
    for protocol, now in (("direct", "direct"), ("train_before_test", FLOORED)):
        theirs = cells[(cells["protocol"] == protocol) & (cells["task"] == "cola")]
        for cola, expected in ((0.0464, INCONCLUSIVE), (-0.0207, INCONCLUSIVE), (0.3, DIFFERS)):
            again = ours.assign(cola=cola, protocol=now)
            rows = compare_cells(theirs, again, harmony_settings(), reruns())
            assert make_table(rows)["verdict"].tolist() == [expected]
