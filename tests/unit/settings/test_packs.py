"""The packs of tasks: rules by name, files by name, and no task lost between two jobs."""

from types import SimpleNamespace

import pytest

from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.packs import (
    EACH,
    RULES,
    harmony_records,
    packs,
    suite_logs,
    suite_records,
)

TASKS = ["sst2", "truthfulqa_mc2", "rte", "mnli"]


def load(tasks_per_job, **more):
    harmony = {"tasks": TASKS, "tasks_per_job": tasks_per_job, **more}
    return load_settings(
        merged(
            {"harmony": {"in_one_job": False} | harmony, "suite": {"tasks_per_job": tasks_per_job}}
        ),
        ROOT,
    )


@pytest.mark.parametrize(
    "tasks_per_job, numbers", [(None, [""]), (4, [""]), (3, ["_1", "_2"]), (2, ["_1", "_2"])]
)
def test_a_model_is_one_job_or_several_with_a_rule_each(tasks_per_job, numbers):
    found = [pack for pack in packs(load(tasks_per_job)) if pack.base == "evaluate_direct"]
    assert [pack.rule for pack in found] == [f"evaluate_direct{number}" for number in numbers]
    assert [task for pack in found for task in pack.tasks] == TASKS
    for pack, number in zip(found, numbers, strict=True):
        log = f"logs/evaluate_direct/{{checkpoint}}/tasks{number}.log"
        assert pack.beside("logs", "log") == log
        assert pack.tasks_of(SimpleNamespace(checkpoint="any")) == pack.tasks


def test_each_cell_can_have_a_job_of_its_own():
    found = packs(load(1))
    assert [pack.rule for pack in found] == list(RULES.values())
    assert {pack.tasks for pack in found} == {EACH}
    direct, suite = found[0], found[-1]
    assert (
        direct.beside("benchmarks", "tsv") == "benchmarks/evaluate_direct/{checkpoint}/{task}.tsv"
    )
    assert direct.records() == ["results/records/harmony/direct/{checkpoint}/{task}.json"]
    assert suite.records("parquet") == [
        "results/records/suite/train_before_test/{row}/{task}.parquet"
    ]
    assert direct.tasks_of(SimpleNamespace(task="rte")) == ("rte",)


@pytest.mark.parametrize("tasks_per_job", [None, 2, 1])
def test_a_job_of_all_models_writes_what_jobs_of_one_model_write(tasks_per_job):
    apart = load(tasks_per_job)
    models = ("miniature--Llama-1.4M", "miniature--Pythia-1M")
    joined = load(
        tasks_per_job, in_one_job=True, models=["miniature/Llama-1.4M", "miniature/Pythia-1M"]
    )
    for one, all_models in zip(packs(apart), packs(joined), strict=True):
        assert (one.rule, one.tasks) == (all_models.rule, all_models.tasks)
        if one.base in ("evaluate_direct", "evaluate_few_shot"):
            assert all_models.models == models
            assert "{checkpoint}" in one.beside("logs", "log")
            assert "/all/" in all_models.beside("logs", "log")
        else:  # trainings, and rows of the leaderboard, keep a job of their own
            assert not all_models.models
        paths = one.records("parquet")
        if all_models.models:
            paths = [path.replace("{checkpoint}", model) for model in models for path in paths]
        assert all_models.records("parquet") == paths


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
        path.format(checkpoint=model, task=task)
        for pack in packs(settings)
        if pack.study == "harmony"
        for path in pack.records()
        for model in ("a--b", "c--d")
        for task in (TASKS if pack.tasks == EACH else [""])
    }
    assert written >= set(wanted)


@pytest.mark.parametrize("tasks_per_job", [None, 1, 4])
def test_each_task_of_a_row_has_its_record_and_the_log_of_its_job(tasks_per_job):
    settings = load(tasks_per_job)
    records = suite_records(settings, "few_shot", "a--b~float32")
    logs = suite_logs(settings, "few_shot", "a--b~float32")
    assert list(records) == list(logs) == [one.task for one in settings.suite.tasks]
    assert records["mmlu"] == "results/records/suite/few_shot/a--b~float32/mmlu.json"
    name = {None: "tasks", 1: "gsm8k", 4: "tasks_2"}[tasks_per_job]
    assert logs["gsm8k"] == f"logs/evaluate_suite/a--b~float32/{name}.log"
