"""harmony.budget: which trainings it pays for, that the choice is kept, and what cannot be paid for."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_sealed
from workflow_scripts.core.ids import in_paths
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.packs import harmony_records, packs, tasks_of
from workflow_scripts.studies.harmony import budget_table, looks
from workflow_scripts.studies.harmony.budget_choice import (
    FOLDER,
    budget_told,
    choice_file,
    choice_looked_at,
    look_file,
    looks_request,
    within_budget,
)
from workflow_scripts.studies.harmony.budget_requests import budget_request, panel_file

TASKS = ["mnli", "rte", "gsm8k", "nq_open", "arc_easy", "sst2", "boolq", "piqa", "truthfulqa_mc2"]


def settings_of(budget="30%", **harmony):
    changes = {"models": ["miniature/Llama-1.4M"], "tasks": TASKS, "budget": budget}
    return load_settings(merged({"harmony": changes | harmony}), ROOT)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def problems_of(**harmony) -> list[str]:
    with pytest.raises(UserError) as raised:
        within_budget(settings_of(**harmony), chooses=True)
    assert not FOLDER.exists()
    return raised.value.problems


def panel_csv(path, models: int) -> str:
    generator = np.random.default_rng(39)
    ability = generator.normal(size=models)
    rows = [
        {
            "model": f"org/m{at}",
            "task": task,
            "protocol": "train_before_test",
            "metric": "acc",
            "value": 1 / (1 + np.exp(-ability[at] - generator.normal() * 0.3)),
        }
        for at in range(models)
        for task in ("mnli", "rte", "sst2")
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


def test_what_is_trained_is_what_was_paid_for_and_the_rest_is_measured_as_it_is():
    settings = within_budget(settings_of(), chooses=True)
    asked = budget_request(settings)
    paid, whole = (
        sum(asked.prices[task] for task in settings.paid_tasks),
        sum(asked.prices.values()),
    )
    assert 0 < paid <= 0.3 * whole * 1.000001
    assert "truthfulqa_mc2" not in asked.prices, "it has no training split"
    trained = tasks_of(settings, "harmony", "train_before_test")
    assert 0 < len(trained) < len(TASKS) - 1 and set(trained) == set(settings.paid_tasks)
    assert tasks_of(settings, "harmony", "direct") == tuple(TASKS)
    records = harmony_records(settings, ["m"])
    assert len(records) == len(TASKS) + len(trained)
    jobs = [pack.tasks for pack in packs(settings) if pack.base == "train_before_test"]
    assert sum(jobs, ()) == trained


@pytest.mark.parametrize("seed", range(5))
def test_hours_and_shares_of_any_config_are_kept_to(seed):
    generator = np.random.default_rng([39, seed])
    tasks = list(generator.choice(TASKS[:-1], 5, replace=False))
    whole = sum(budget_request(settings_of("100%", tasks=tasks)).prices.values())
    share = generator.uniform(0.5, 1)
    by_hours = within_budget(settings_of(f"{whole * share:.9f}h", tasks=tasks), chooses=True)
    by_share = within_budget(settings_of(f"{100 * share:.9f}%", tasks=tasks), chooses=True)
    assert by_hours.paid_tasks == by_share.paid_tasks
    assert sum(map(budget_request(by_hours).prices.get, by_hours.paid_tasks)) <= whole * share
    every = within_budget(settings_of("100%", tasks=tasks), chooses=True).paid_tasks
    assert sorted(every) == sorted(tasks)


def test_what_was_chosen_is_better_than_the_cheapest_and_told_with_its_price():
    settings = within_budget(settings_of(), chooses=True)
    kept = json.loads(choice_file(settings).read_text())["value"]
    assert kept["off_of_all"] < kept["off"] < kept["off_of_cheapest"]
    (sentence,) = budget_told(settings)
    assert f"{len(settings.paid_tasks)} of {len(TASKS) - 1} tasks" in sentence
    assert f"off by {kept['off']:.0f} and its rank" in sentence and "CPU hours" in sentence
    assert budget_told(settings_of(None)) == []


def test_a_rerun_keeps_the_choice_and_another_budget_chooses_anew(monkeypatch):
    first = within_budget(settings_of(), chooses=True)
    written = choice_file(first).read_bytes()
    with monkeypatch.context() as patch:
        patch.delattr(budget_table, "choose")
        assert within_budget(settings_of(), chooses=True).paid_tasks == first.paid_tasks
    more = within_budget(settings_of("60%"), chooses=True)
    assert len(more.paid_tasks) > len(first.paid_tasks)
    assert choice_file(first).read_bytes() == written, "a look at another budget leaves it alone"


def test_other_prices_choose_anew_until_something_is_trained():
    """As on another machine that shares the folder; with looks, the risk that they share would be taken twice."""
    first = within_budget(settings_of(stop={"half_width": 300}), chooses=True)
    elsewhere = settings_of(stop={"half_width": 300})
    compute = elsewhere.compute.model_copy(update={"threads": elsewhere.compute.threads + 7})
    elsewhere = elsewhere.model_copy(update={"compute": compute})
    before = choice_file(first).read_bytes()
    within_budget(elsewhere, chooses=True)
    assert choice_file(first).read_bytes() != before, "nothing is trained yet"
    choice_file(first).write_bytes(before)
    (trained,) = tasks_of(first, "harmony", "train_before_test")
    record = Path(f"results/records/harmony/train_before_test/miniature--Llama-1.4M/{trained}.json")
    assert str(record) in harmony_records(first, in_paths(first.harmony.models))
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    looked(first, enough=False)
    second = within_budget(elsewhere, chooses=True)
    assert second.paid_tasks[:1] == first.paid_tasks and len(second.paid_tasks) == 2


def test_a_choice_of_an_older_version_is_made_anew():
    first = within_budget(settings_of(), chooses=True)
    kept = json.loads(choice_file(first).read_text())["value"]
    write_sealed(
        choice_file(first),
        {name: one for name, one in kept.items() if name != "about"} | {"made_of": ""},
    )
    assert within_budget(settings_of(), chooses=True).paid_tasks == first.paid_tasks


def test_a_job_takes_what_was_chosen_and_never_chooses():
    chosen = within_budget(settings_of(), chooses=True).paid_tasks
    # On a machine by which everything has another price.
    elsewhere = settings_of()
    cluster = elsewhere.cluster.model_copy(update={"training_use": 0.01})
    changed = elsewhere.model_copy(update={"cluster": cluster, "source": "huggingface"})
    assert budget_request(changed).prices != budget_request(elsewhere).prices
    assert within_budget(changed, chooses=False).paid_tasks == chosen
    choice_file(elsewhere).write_text("{}")
    with pytest.raises(UserError, match=r"results/budget/\w+\.json is missing or altered"):
        within_budget(settings_of(), chooses=False)


def test_without_a_budget_nothing_is_chosen_or_written():
    settings = settings_of(None)
    assert within_budget(settings, chooses=True) is settings
    assert not FOLDER.exists()


def test_what_cannot_be_paid_for_is_a_sentence(tmp_path):
    (sentence,) = problems_of(budget="0.5%")
    assert (
        "harmony.budget is '0.5%'" in sentence and "the cheapest of harmony.tasks takes" in sentence
    )
    assert "(" in sentence and sentence.endswith("%).")
    (sentence,) = problems_of(tasks=["truthfulqa_mc2"])
    assert sentence.endswith("is none.")
    panel = panel_csv(tmp_path / "panel.csv", 12)
    (sentence,) = problems_of(tasks=["mnli", "arc_easy", "sciq", "piqa"], panel=panel, budget="60%")
    assert (
        "harmony.tasks has 'arc_easy' and 2 others" in sentence
        and "panel.csv has no scores" in sentence
    )
    few = panel_csv(tmp_path / "few.csv", 9)
    (sentence,) = problems_of(tasks=["mnli", "rte"], panel=few, budget="60%")
    assert "9 models with a score on each of its 3 tasks" in sentence and "at least 10" in sentence


def test_a_panel_of_untrained_models_chooses_no_trainings(tmp_path):
    panel = panel_csv(tmp_path / "panel.csv", 12)
    pd.read_csv(panel).assign(protocol="few_shot").to_csv(panel, index=False)
    (sentence,) = problems_of(tasks=["mnli", "rte"], panel=panel, budget="60%")
    assert "panel.csv has scores under few_shot; expected scores after training" in sentence


def test_a_model_of_the_panel_has_its_place_already(tmp_path):
    panel = panel_csv(tmp_path / "panel.csv", 12)
    table = pd.read_csv(panel)
    table["model"] = table["model"].replace("org/m3", "miniature/Llama-1.4M")
    table.to_csv(panel, index=False)
    (sentence,) = problems_of(tasks=["mnli", "rte"], panel=panel, budget="60%")
    assert "harmony.models has 'miniature/Llama-1.4M', of the panel" in sentence


def test_the_choice_follows_the_panel_that_is_named(tmp_path):
    asked = {"tasks": ["mnli", "rte", "sst2"], "budget": "40%"}
    panel = panel_csv(tmp_path / "panel.csv", 30)
    before = within_budget(settings_of(**asked, panel=panel), chooses=True).paid_tasks
    table = pd.read_csv(panel)
    # What was chosen says nothing any more.
    noise = np.random.default_rng(1).uniform(size=len(table))
    table["value"] = table["value"].where(~table["task"].isin(before), noise)
    table.to_csv(panel, index=False)
    after = within_budget(settings_of(**asked, panel=panel), chooses=True).paid_tasks
    assert len(before) == len(after) == 1 and before != after


def test_the_table_has_the_choice_all_tasks_and_each_way_at_each_price(tmp_path):
    settings = within_budget(settings_of(tasks=TASKS[:-1]), chooses=True)
    asked = budget_request(settings)
    panel = Path(panel_file(settings))
    table = budget_table.budget_curve(*budget_table._panel(panel, asked), asked)
    paid, whole = table.iloc[0], table.iloc[1]
    assert set(paid["chosen"].split()) == set(settings.paid_tasks)
    assert (whole["price"], whole["tasks"]) == (1, len(TASKS) - 1)
    wide = table[2:].pivot_table(index="price", columns="way", values="off")
    assert {"chosen", "cheapest", "random"} == set(wide.columns)
    assert (table["off"] >= whole["off"] - 1e-9).all()
    files = {kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")}
    budget_table.TABLE.write(table, asked, **files)
    assert "harmony.budget" in files["md"].read_text()
    budget_table.write_budget(table, asked, tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000


def looked(settings, enough: bool) -> None:
    """As the job does that ends a run."""
    asked = looks_request(settings)
    table = pd.DataFrame(
        {"look": [len(asked.turn)], "task": asked.turn[-1], "price": 0.1, "model": "m"}
    )
    table = table.assign(pc1=0.0, low=-1.0, high=1.0, above="", enough=int(enough))
    table.to_csv("looks.csv", index=False)
    look_file(settings).parent.mkdir(parents=True, exist_ok=True)
    looks.write_look(
        Inputs({"looks": ["looks.csv"]}), choice_looked_at(settings), {"look": look_file(settings)}
    )


def test_each_command_trains_on_one_task_more_until_that_is_enough():
    asked = {"stop": {"half_width": 200}, "budget": "60%"}
    first = within_budget(settings_of(**asked), chooses=True)
    every = json.loads(choice_file(first).read_text())["value"]["tasks"]
    assert len(every) > 3 and list(first.paid_tasks) == every[:1]
    again = within_budget(settings_of(**asked), chooses=True)
    assert again.paid_tasks == first.paid_tasks, "what was not looked at is not done"
    looked(first, enough=False)
    inside = within_budget(settings_of(**asked), chooses=False)
    assert inside.paid_tasks == first.paid_tasks, "a job of the run goes on with what the run began"
    second = within_budget(settings_of(**asked), chooses=True)
    assert list(second.paid_tasks) == every[:2]
    assert within_budget(settings_of(**asked), chooses=False).paid_tasks == second.paid_tasks
    assert looks_request(second).turn == second.paid_tasks and looks_request(second).most == len(
        every
    )
    looked(second, enough=True)
    assert within_budget(settings_of(**asked), chooses=True).paid_tasks == second.paid_tasks
    _, sentence = budget_told(second)
    assert f"This run has 2 of {len(every)}" in sentence
    assert "would not be known to 200 from all of these" in sentence, "40 items tell no more"


def test_the_looks_that_are_expected_count_the_errors_of_the_items_that_are_asked():
    def expected_with(items: int) -> tuple[int | None, float]:
        settings = settings_of("60%", stop={"half_width": 400}, max_test_items=items)
        asked = budget_request(settings)
        assert set(asked.items.values()) == {items}
        panel = Path(panel_file(settings))
        table = budget_table.budget_curve(*budget_table._panel(panel, asked), asked)
        return budget_table.choose(panel, asked).looks, table["half"].iloc[0]

    (few, wide), (many, narrow) = expected_with(10), expected_with(40)
    assert (few is None or few > many) and wide > narrow


def test_looks_of_another_choice_are_none(tmp_path):
    asked = {"stop": {"half_width": 200}, "budget": "60%", "tasks": ["mnli", "rte", "sst2"]}
    panel = panel_csv(tmp_path / "panel.csv", 30)
    first = within_budget(settings_of(**asked, panel=panel), chooses=True)
    looked(first, enough=True)
    pd.read_csv(panel).assign(value=lambda table: table["value"] ** 2).to_csv(panel, index=False)
    again = within_budget(settings_of(**asked, panel=panel), chooses=True)
    assert len(again.paid_tasks) == 1 and look_file(again) == look_file(first)
    looked(again, enough=False)
    assert len(within_budget(settings_of(**asked, panel=panel), chooses=True).paid_tasks) >= 1


@pytest.mark.parametrize("width", [5.0, 5000.0])
def test_a_width_is_enough_when_every_model_is_known_to_it(width):
    settings = within_budget(settings_of(stop={"half_width": width}, budget="60%"), chooses=True)
    asked = looks_request(settings).model_copy(update={"turn": ("mnli", "rte"), "most": 4})
    panel = budget_table._panel(Path(panel_file(settings)), budget_request(settings))[0]
    scores = panel.iloc[[3, 20]].set_axis(["new/a", "new/b"])
    table = looks.looks(scores, scores * np.nan, panel, asked)
    assert list(table["look"]) == [1, 1, 2, 2] and looks.is_enough(table) == (width > 1000)
    told = looks.TABLE.shown(table, asked).note
    assert ("no more is trained" in told) == (width > 1000)


def test_an_order_is_enough_when_the_better_model_is_known():
    names = ["miniature/Llama-1.4M", "miniature/Llama-0.3M"]
    stop = {"order": names}
    settings = within_budget(settings_of(models=names, stop=stop, budget="60%"), chooses=True)
    asked = looks_request(settings).model_copy(update={"turn": ("mnli",), "most": 4})
    panel = budget_table._panel(Path(panel_file(settings)), budget_request(settings))[0]
    ordered = panel.sort_values("mnli")
    apart = ordered.iloc[[0, -1]].set_axis(names)
    table = looks.looks(apart, apart * np.nan, panel, asked)
    assert looks.is_enough(table)
    assert dict(zip(table["model"], table["above"], strict=True)) == {
        names[1]: names[0],
        names[0]: "",
    }
    alike = ordered.iloc[[30, 31]].set_axis(names)
    assert not looks.is_enough(looks.looks(alike, alike * np.nan, panel, asked))
