"""The packs of tasks: rules by name, files by name, and no task lost between two jobs."""

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.packs import (
    RULES,
    harmony_records,
    packs,
    suite_records,
)

TASKS = ["sst2", "truthfulqa_mc2", "rte", "mnli"]


def load(tasks_per_job, **more):
    changes = {
        "harmony": {"tasks": TASKS, **more},
        "cluster": {"tasks_per_job": tasks_per_job},
    }
    return load_settings(merged(changes), ROOT)


@pytest.mark.parametrize(
    "tasks_per_job, numbers", [(None, [""]), (4, [""]), (3, ["_1", "_2"]), (2, ["_1", "_2"])]
)
def test_a_model_is_one_job_or_several_with_a_rule_each(tasks_per_job, numbers):
    found = [pack for pack in packs(load(tasks_per_job)) if pack.base == "evaluate_direct"]
    assert [pack.rule for pack in found] == [f"evaluate_direct{number}" for number in numbers]
    assert [task for pack in found for task in pack.tasks] == TASKS
    for pack, number in zip(found, numbers, strict=True):
        assert pack.log == f"logs/evaluate_direct/{{checkpoint}}/tasks{number}.log"


def test_each_cell_can_have_a_job_of_its_own():
    direct, *_, suite = packs(load(1))
    assert direct.rule == "evaluate_direct_1"
    assert direct.records() == ["results/records/harmony/direct/{checkpoint}/sst2.json"]
    assert suite.records("parquet") == [
        f"results/records/suite/train_before_test/{{row}}/{suite.tasks[0]}.parquet"
    ]
    assert {pack.base for pack in packs(load(1))} == set(RULES.values())


def test_a_study_without_tasks_of_a_protocol_has_no_job_of_it():
    rules = {pack.base for pack in packs(load(None, tasks=["truthfulqa_mc2"]))}
    assert "evaluate_direct" in rules
    assert not {"evaluate_few_shot", "train_before_test"} & rules


@pytest.mark.parametrize("tasks_per_job", [None, 1, 2])
def test_what_the_config_asks_for_is_what_the_jobs_write(tasks_per_job):
    settings = load(tasks_per_job, seeds=[3, 5], protocols=["train_before_test", "direct"])
    wanted = harmony_records(settings, ["a--b", "c--d"])
    assert len(wanted) == len(set(wanted)) == 2 * (4 + 2 * 3)
    assert "results/records/harmony/train_before_test/c--d/mnli.seed-5.json" in wanted
    written = {
        path.format(checkpoint=model)
        for pack in packs(settings)
        if pack.study == "harmony"
        for path in pack.records()
        for model in ("a--b", "c--d")
    }
    assert written >= set(wanted)


def test_each_task_of_a_row_has_its_record():
    settings = load(None)
    records = suite_records(settings, "few_shot", "a--b~float32")
    assert list(records) == [one.task for one in settings.suite.tasks]
    assert records["mmlu"] == "results/records/suite/few_shot/a--b~float32/mmlu.json"
