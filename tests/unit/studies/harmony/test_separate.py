"""`snakemake separate`: against the same numbers computed another way, and the sentences that say them."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from tests.records import make_items, record_fields
from tests.unit.settings.merged import ROOT, merged
from tests.unit.studies.harmony.harmony_study import METRICS
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import write_record
from workflow_scripts.planning.needs import Planner
from workflow_scripts.scores.tidy import collect_scores
from workflow_scripts.settings.load import Settings, load_settings
from workflow_scripts.studies.harmony.separate import TABLE, separate
from workflow_scripts.studies.harmony.separate_requests import (
    SeparateRequest,
    separate_request,
    separated_files,
)
from workflow_scripts.studies.ranking.frame import DIRECT, FLOORED, OVERALL, TRAINED
from workflow_scripts.studies.ranking.requests import hub_models
from workflow_scripts.studies.ranking.trainings import published_trainings

PAIR = ("Qwen/Qwen2.5-7B", "meta-llama/Llama-3.1-8B")
OWN = ("miniature/Llama-1.4M", "miniature/Pythia-1M")
PUBLISHED = ROOT / "resources/published"
# The same in the real world, where no other study has a model.
REAL = {
    **{"source": "huggingface", "compute": {"device": "cuda"}, "harmony": {"models": []}},
    **{"chunking": {"checkpoints": []}, "prompts": {"models": []}},
}
POWER = norm.ppf(0.975) + norm.ppf(0.8)


def settings_of(*models: str, **changes) -> Settings:
    return load_settings(merged({"separate": " ".join(models)} | changes), ROOT)


def answer(*models: str, **changes) -> tuple[pd.DataFrame, SeparateRequest]:
    asked = SeparateRequest.of(separate_request(settings_of(*models, **changes)).as_params())
    return separate(asked), asked


def overall(table: pd.DataFrame, protocol: str) -> pd.DataFrame:
    of = table[(table["task"] == OVERALL) & (table["protocol"] == protocol)]
    return of.set_index("question")


def sentences(table: pd.DataFrame, asked: SeparateRequest) -> list[str]:
    *said, about = TABLE.shown(table, asked).note.split("\n\n")
    assert about.startswith("Difference: ")
    return said


@pytest.fixture(scope="module")
def published():
    return answer(*PAIR)


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    """The released file as it is: model and task down; value and error of both protocols, floored."""
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    long = long[
        long["task"].isin(METRICS) & long["metric"].isin(["acc", "acc_norm", "mcc", "exact_match"])
    ]
    reported = long["task"].map(METRICS).str.split(",").str[0]
    long = long[(long["metric"] == reported) | (long["metric"] == long["task"].map(METRICS))]
    wide = long.pivot(index=["model", "task"], columns="protocol", values=["value", "stderr"])
    kept = wide["value", TRAINED] < wide["value", DIRECT]
    for what in ("value", "stderr"):
        wide[what, FLOORED] = wide[what, TRAINED].mask(kept, wide[what, DIRECT])
    wide["kept", FLOORED] = kept
    return wide


@pytest.mark.parametrize("protocol", [DIRECT, TRAINED])
def test_two_published_models_have_the_numbers_of_their_released_scores(published, cells, protocol):
    table, _ = published
    found = overall(table, protocol)
    column = FLOORED if protocol == TRAINED else protocol
    one, other = (cells.xs(model) for model in PAIR)
    apart = one["value", column] - other["value", column]
    correlations = pd.read_csv(PUBLISHED / "items/correlations.csv", index_col="task")[
        "correlation"
    ]
    together = correlations.reindex(apart.index).fillna(correlations.median())
    a, b = one["stderr", column], other["stderr", column]
    items = math.sqrt((a**2 + b**2 - 2 * together * a * b).sum()) / 24
    mean = apart.mean()
    assert found.loc["items", "difference"] == pytest.approx(mean)
    assert found.loc["items", "stderr"] == pytest.approx(items)
    assert found.loc["items", "low"] == pytest.approx(norm.ppf(0.025, mean, items), abs=1e-6)
    assert found.loc["items", "probability"] == pytest.approx(norm.sf(0, mean, items))
    assert found.loc["items", "shows_from"] == pytest.approx(POWER * items)
    assert found.loc["items", "needed"] == pytest.approx((POWER * items / mean) ** 2)
    of_tasks = apart.std(ddof=1) / math.sqrt(24)
    assert found.loc["tasks", "stderr"] == pytest.approx(of_tasks)
    assert found.loc["tasks", "high"] == pytest.approx(t.ppf(0.975, 23, mean, of_tasks))
    assert found.loc["tasks", "probability"] == pytest.approx(t.sf(0, 23, mean, of_tasks))
    of_normal = (POWER * apart.std(ddof=1) / mean) ** 2
    assert of_normal < found.loc["tasks", "needed"] < of_normal + 4
    assert ("trainings" in found.index) == (protocol == TRAINED)


def test_training_again_adds_what_the_two_releases_say_of_both_models(published, cells):
    found = overall(published[0], TRAINED)
    leaderboard, long = (
        pd.read_csv(PUBLISHED / f"harmony_{name}.csv") for name in ("leaderboard", "cells")
    )
    long = long[long["task"].isin(leaderboard.columns)]
    reported = long["task"].map(METRICS)
    long = long[(long["metric"] == reported) | (long["metric"] == reported.str.split(",").str[0])]
    reruns = published_trainings(leaderboard, long, hub_models(settings_of(*PAIR)))
    tasks = list(cells.xs(PAIR[0]).index)
    spread = reruns.spread(pd.Series(PAIR, PAIR), tasks)
    for model in PAIR:
        spread.loc[model, cells.xs(model)["kept", FLOORED].to_numpy(bool)] = 0.0
    more = found.loc["trainings", "stderr"] ** 2 - found.loc["items", "stderr"] ** 2
    assert math.sqrt(more) == pytest.approx(math.sqrt((spread**2).to_numpy().sum()) / 24, rel=1e-6)


def test_the_sentences_say_what_is_settled_and_what_is_not(published):
    direct, trained = sentences(*published)
    assert direct.startswith(
        "Direct (published scores, 24 tasks): Qwen/Qwen2.5-7B is ahead of meta-llama/Llama-3.1-8B by"
        " 6.5 points. Settled: it is the better one with other items of these tasks (5.7 to 7.2 points,"
        " probability above 0.99); with other tasks of the kind"
    )
    assert "Not settled" not in direct
    assert "Not settled: whether it is with other items and both trained again" in trained
    assert "No number of trainings settles it" in trained
    assert "meta-llama/Llama-3.1-8B is better on HellaSwag and NQ-Open" in trained


def test_named_the_other_way_round_it_is_the_same_answer(published):
    table, asked = answer(*PAIR[::-1])
    for column, sign in (("difference", -1), ("stderr", 1), ("needed", 1), ("hours", 1)):
        assert (sign * table[column]).tolist() == pytest.approx(
            published[0][column].tolist(), nan_ok=True
        )
    assert sentences(table, asked) == sentences(*published)


def test_the_hours_are_those_of_the_plan(published):
    """On the GPU that the config names, though the config itself is of the miniature world."""
    table, asked = published
    tasks = tuple(table[table["task"] != OVERALL]["task"].unique())
    settings = settings_of(*PAIR, **REAL)
    work = {
        name: row.model_copy(update={"test_items": 5 * row.test_items})
        for name, row in settings.work.items()
    }
    harmony = settings.harmony.model_copy(update={"max_test_items": None, "seeds": (1, 2, 3)})
    often = Planner(settings.model_copy(update={"harmony": harmony}))
    hours = asked.grids[0].hours
    assert asked.unit == f"GPU hours ({settings.cluster.gpu})"
    small = [
        task for task in tasks if settings.work[task].test_items < 2000
    ]  # which no cap shortens
    larger = Planner(settings.model_copy(update={"work": work}))
    for model in PAIR:
        planned = larger.evaluation(model, tuple(small)).seconds / 3600
        assert hours[DIRECT][model].of(small, items=5) == pytest.approx(planned, rel=0.02)
        planned = often.training_before_test(model, tuple(small)).seconds / 3600
        assert hours[TRAINED][model].of(small, trainings=3) == pytest.approx(planned, rel=0.02)
    found = overall(table, TRAINED).loc["tasks"]
    each = [hours[TRAINED][model].of(tasks, times=found["needed"] / 24) for model in PAIR]
    assert found["hours"] == pytest.approx(sum(each))


def answered(model: str, task: str, protocol: str, seed: int, right: np.ndarray):
    metric = METRICS[task].split(",")[0]
    items = [
        Item(**vars(item) | {"scores": {METRICS[task]: float(right[at]), metric: float(right[at])}})
        for at, item in enumerate(make_items(golds=("0",) * len(right)))
    ]
    fields = record_fields(
        model=model, task=task, value=float(right.mean()), n=len(right), seed=seed
    )
    fields["protocol"] = fields["protocol"].model_copy(update={"name": protocol})
    fields["metrics"] = tuple(
        one.model_copy(update={"name": METRICS[task]}) for one in fields["metrics"]
    )
    path = Path(f"records/{model.replace('/', '--')}_{task}_{protocol}_{seed}.json")
    write_record(path, items, **fields)
    return path


SEEDS, TASKS = (0, 1, 2), ("rte", "sst2", "arc_easy")


@pytest.fixture
def run(tmp_path, monkeypatch) -> dict:
    """A run with items, gathered where `snakemake harmony` puts it; by protocol, model and task, items by seed."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    made, paths = {}, []
    for task in TASKS:
        hardness = 2 * generator.normal(size=400)
        for at, model in enumerate(OWN):
            for protocol, seeds in ((DIRECT, (0,)), (TRAINED, SEEDS)):
                luck = 0.3 * generator.normal(size=(len(seeds), 1)) * (protocol == TRAINED)
                skilled = 1.2 + 0.2 * at + (protocol == TRAINED) + luck + 0.2 * generator.normal()
                right = generator.random((len(seeds), 400)) < 1 / (1 + np.exp(hardness - skilled))
                made[protocol, model, task] = right
                paths += [
                    answered(model, task, protocol, seed, row)
                    for seed, row in zip(seeds, right, strict=True)
                ]
    folder = Path("results/scores")
    files = {"scores": folder / "harmony.parquet", "errors": folder / "harmony_errors.parquet"}
    collect_scores({"records": paths}, {}, files)
    return made


def test_two_models_of_a_run_are_compared_on_the_items_that_both_answered(run):
    changes = {"tasks": list(TASKS), "seeds": list(SEEDS)}
    table, asked = answer(*OWN, harmony=changes)
    assert set(table["scores"]) == {"own scores"}
    assert set(table["protocol"]) == {DIRECT, TRAINED}, (
        "floored ones are for comparisons with others"
    )
    for protocol in (DIRECT, TRAINED):
        apart = [
            run[protocol, OWN[0], task].mean(axis=0) - run[protocol, OWN[1], task].mean(axis=0)
            for task in TASKS
        ]
        mean = np.mean([one.mean() for one in apart])
        items = math.sqrt(sum(one.var(ddof=1) / 400 for one in apart)) / 3
        found = overall(table, protocol)
        assert found.loc["items", "difference"] == pytest.approx(mean)
        assert found.loc["items", "stderr"] == pytest.approx(items, rel=0.02)
        assert found.loc["items", "needed"] == pytest.approx((POWER * items / mean) ** 2, rel=0.04)
    assert asked.unit == "CPU hours"
    assert found["hours"].dropna().between(1e-4, 10).all()


def test_the_number_of_trainings_follows_from_the_spread_between_seeds(run):
    changes = {"tasks": list(TASKS), "seeds": list(SEEDS)}
    found = overall(answer(*OWN, harmony=changes)[0], TRAINED)
    of_all, of_items = (found.loc[of, "stderr"] for of in ("trainings", "items"))
    # Shrunk towards the mean of all tasks, which leaves their sum about as it is.
    between = [
        run[TRAINED, model, task].mean(axis=1).var(ddof=1) for model in OWN for task in TASKS
    ]
    assert of_all**2 - of_items**2 == pytest.approx(sum(between) / 3 / 9, rel=0.5)
    room = (found.loc["items", "difference"] / POWER) ** 2 - of_items**2
    once = 3 * (of_all**2 - of_items**2)
    expected = max(1, math.ceil(once / room)) if room > 0 else math.inf
    assert found.loc["trainings", "needed"] == expected


def test_with_one_seed_of_the_miniature_world_nothing_is_said_of_another_training(run):
    for path in Path("records").glob("*_[12].*"):
        path.unlink()
    paths = sorted(Path("records").glob("*.json"))
    folder = Path("results/scores")
    files = {"scores": folder / "harmony.parquet", "errors": folder / "harmony_errors.parquet"}
    collect_scores({"records": paths}, {}, files)
    table, asked = answer(*OWN, harmony={"tasks": list(TASKS)})
    found = overall(table, TRAINED).loc["trainings"]
    assert found[["stderr", "low", "probability", "needed", "hours"]].isna().all()
    direct, trained = sentences(table, asked)
    assert "How far another training would move the scores is not known." in trained
    assert "training" not in direct
    shown = TABLE.shown(table, asked)
    assert [row[5:] for row in shown.rows if "trained again" in row[2]] == [["—"] * 5]


def test_one_of_ours_is_compared_with_a_published_one_floored_as_that_is(run):
    table, _ = answer(OWN[0], PAIR[0], harmony={"tasks": list(TASKS), "seeds": list(SEEDS)})
    assert set(table["scores"]) == {"own scores and harmony_cells"}
    assert set(table["protocol"]) == {DIRECT, FLOORED}
    assert set(table["task"]) == {OVERALL, *TASKS}
    found = overall(table, FLOORED)["difference"].iloc[0]
    ours = [run[TRAINED, OWN[0], task].mean() for task in TASKS]
    direct = [run[DIRECT, OWN[0], task].mean() for task in TASKS]
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    long = long[(long["model"] == PAIR[0]) & long["task"].isin(TASKS)]
    long = long[long["metric"] == long["task"].map(METRICS).str.split(",").str[0]]
    theirs = long.groupby("task")["value"].max()
    assert found == pytest.approx(np.maximum(ours, direct).mean() - theirs.mean())
    assert table["hours"].isna().all(), "a processor's hours and a GPU's do not add up"


def test_own_scores_that_are_not_there_are_not_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = REAL | {"harmony": {"models": list(PAIR)}}
    assert {Path(path).name for path in separated_files(settings_of(*PAIR, **changes))} == {
        "harmony_cells.csv"
    }
    with pytest.raises(UserError, match="no scores yet; run `snakemake harmony` first"):
        separated_files(settings_of(OWN[0], PAIR[0]))


def test_what_cannot_be_compared_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = "model,task,protocol,metric,value,n\n"
    Path("theirs.csv").write_text(
        header + "acme/One,rte,direct,acc,0.5,200\nacme/Two,wic,direct,acc,0.5,9\n"
    )
    imported = {"harmony": {"imported_scores": ["theirs.csv"]}}
    with pytest.raises(UserError, match="acme/One and acme/Two have no task in common"):
        answer("acme/One", "acme/Two", **imported)
    for models, said in (
        (("acme/One", "acme/One"), "'acme/One' twice; expected two different models"),
        (("acme/On", "acme/Two"), r"no scores; .*mean 'acme/One'\?"),
        ((), "separate is null; expected two models"),
    ):
        with pytest.raises(UserError, match=said):
            separated_files(
                settings_of(*models, **imported)
                if models
                else load_settings(merged(imported), ROOT)
            )
    for said in ("acme/One", "a b c", "a, b, c", ", b"):
        with pytest.raises(UserError, match=r"separate is '.*'; expected two models"):
            settings_of(said)


def test_scores_from_elsewhere_have_their_own_error_and_names_may_have_spaces(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{model},rte,direct,acc,{value},400"
        for model, value in (("My model", 0.6), ("Yours", 0.7))
    ]
    Path("theirs.csv").write_text("\n".join(["model,task,protocol,metric,value,n", *rows]) + "\n")
    table, asked = answer("My model,", "Yours", harmony={"imported_scores": ["theirs.csv"]})
    found = overall(table, DIRECT)
    a, b = math.sqrt(0.6 * 0.4 / 400), math.sqrt(0.7 * 0.3 / 400)
    rho = pd.read_csv(PUBLISHED / "items/correlations.csv", index_col="task").at[
        "rte", "correlation"
    ]
    assert found.loc["items", "stderr"] == pytest.approx(math.sqrt(a**2 + b**2 - 2 * rho * a * b))
    assert np.isnan(found.loc["tasks", "stderr"]), "one task says nothing of others"
    (said,) = sentences(table, asked)
    assert said.startswith("Direct (theirs, 1 task): Yours is ahead of My model by 10.0 points.")


def test_a_grid_whose_protocols_are_others_is_compared_within_itself_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config/grids").mkdir(parents=True)
    Path("config/grids/riddles.yaml").write_text(
        "scores: [riddles.csv]\nprotocols: {before: {name: as they are}}\ncategories: {Riddles: [rte]}\n"
    )
    rows = [f"{model},rte,before,acc,{value},0.02" for model, value in (("one", 0.5), ("two", 0.6))]
    Path("riddles.csv").write_text("\n".join(["model,task,protocol,metric,value,stderr", *rows]))
    (said,) = sentences(*answer("one", "two"))
    assert said.startswith(
        "As they are (scores, 1 task): two is ahead of one by 10.0 points. Settled:"
    )
    with pytest.raises(
        UserError, match="scored under different protocols; expected two models of one grid"
    ):
        separated_files(settings_of("one", PAIR[0]))
