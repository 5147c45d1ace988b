"""The packs of tasks: rules by name, files by name, and no task lost between two jobs."""

import pytest

from tests.unit.settings.merged import load
from workflow_scripts.settings.job_batches import RULES, list_harmony_records, packs, suite_records

TASKS = ["sst2", "truthfulqa_mc2", "rte", "mnli"]


def load_with(tasks_per_job, **harmony):
    cluster = {"tasks_per_job": tasks_per_job}
    return load({"harmony": {"tasks": TASKS, **harmony}, "cluster": cluster})


@pytest.mark.parametrize(
    "tasks_per_job, numbers", [(None, [""]), (4, [""]), (3, ["_1", "_2"]), (2, ["_1", "_2"])]
)
def test_a_model_is_one_job_or_several_with_a_rule_each(tasks_per_job, numbers):
    made = packs(load_with(tasks_per_job))
    direct = [pack for pack in made if pack.base == "evaluate_direct"]
    assert [pack.rule for pack in direct] == [f"evaluate_direct{number}" for number in numbers]
    assert [task for pack in direct for task in pack.tasks] == TASKS
    assert direct[0].log == f"logs/evaluate_direct/{{checkpoint}}/tasks{numbers[0]}.log"
    assert {pack.base for pack in made} == set(RULES.values())


def test_a_study_without_tasks_of_a_protocol_has_no_job_of_it():
    rules = {pack.base for pack in packs(load_with(None, tasks=["truthfulqa_mc2"]))}
    assert "evaluate_direct" in rules and not {"evaluate_few_shot", "train_before_test"} & rules


@pytest.mark.parametrize("tasks_per_job", [None, 1, 2])
def test_what_the_config_asks_for_is_what_the_jobs_write(tasks_per_job):
    protocols = ["train_before_test", "direct"]
    settings = load_with(tasks_per_job, seeds=[3, 5], protocols=protocols)
    records = list_harmony_records(settings, ["a--b", "c--d"])
    assert len(records) == len(set(records)) == 2 * (4 + 2 * 3)
    assert "results/records/harmony/train_before_test/c--d/mnli.seed-5.json" in records
    written = {
        path.format(checkpoint=model, row="r")
        for pack in packs(settings)
        for path in pack.records()
        for model in ("a--b", "c--d")
    }
    assert written >= set(records) | set(suite_records(settings, "few_shot", "r").values())
