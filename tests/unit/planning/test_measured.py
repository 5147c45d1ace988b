"""What jobs take is learned from those that are done."""

import csv
import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from tests.unit.planning.test_plan import job
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.planning.measured import AS_PLANNED, devices, learn, priced, took
from workflow_scripts.planning.needs import Need, Planner
from workflow_scripts.settings.load import load_settings

# How a machine may differ from what was planned for it: 40 times slower, and slower still at training.
TRUE = {"starting": 1.3, "handling": 0.8, "reading": 40.0, "training": 90.0}


def random_job(rng, rule, **largest):
    parts = {part: rng.uniform(0.1, most) for part, most in largest.items()}
    return job(rule, 12 + sum(parts.values()), parts=parts, done=True)


def true_seconds(one):
    start = one.need.seconds - sum(one.need.parts.values())
    parts = {"starting": start} | one.need.parts
    return sum(TRUE[part] * seconds for part, seconds in parts.items())


def a_run(rng, count):
    jobs = [random_job(rng, "evaluate_direct", reading=9, handling=30) for _ in range(count)]
    return jobs + [random_job(rng, "train_before_test", reading=2, training=9) for _ in jobs]


@pytest.mark.parametrize("seed", range(5))
def test_a_machine_that_is_slower_in_each_part_by_another_factor_is_learned_from_half_of_its_jobs(
    seed,
):
    rng = random.Random(seed)
    jobs = a_run(rng, 20)
    measured = {
        at: true_seconds(one) * rng.lognormvariate(0, 0.1) for at, one in enumerate(jobs) if at % 2
    }
    pace = learn(jobs, measured)
    others = [one for at, one in enumerate(jobs) if at not in measured]
    for one in others:
        assert pace.seconds(one) == pytest.approx(true_seconds(one), rel=0.3)
    whole = sum(map(true_seconds, others))
    assert sum(map(pace.seconds, others)) == pytest.approx(whole, rel=0.1)


def test_of_a_rule_that_nothing_is_known_of_the_device_tells_the_factor():
    jobs = a_run(random.Random(1), 20)
    evaluations = {at: true_seconds(one) for at, one in enumerate(jobs[:20])}
    training = jobs[-1]
    expected = learn(jobs, evaluations).seconds(training)
    # As much slower as reading is: of the factor of training alone nobody knows.
    assert 20 * training.need.parts["training"] < expected < 90 * training.need.parts["training"]


def test_one_job_that_hung_decides_nothing():
    jobs = a_run(random.Random(2), 20)
    measured = {at: true_seconds(one) for at, one in enumerate(jobs)}
    before = learn(jobs, measured).seconds(jobs[3])
    after = learn(jobs, measured | {0: 100 * measured[0]}).seconds(jobs[3])
    assert after == pytest.approx(before, rel=0.15)


def test_as_long_as_nothing_is_done_the_plan_holds():
    jobs = a_run(random.Random(3), 2)
    assert learn(jobs, {}) is AS_PLANNED
    assert [AS_PLANNED.seconds(one) for one in jobs] == pytest.approx(
        [one.need.seconds for one in jobs]
    )
    assert learn([job("all", 0)], {0: 5.0}) is AS_PLANNED


def test_what_is_done_is_priced_by_what_it_took_and_the_rest_by_that():
    jobs = [job("evaluate_direct", 100, parts={"reading": 100.0}) for _ in range(2)]
    measured = {0: 1_000.0}
    done, other = priced(jobs, learn(jobs, measured), measured)
    assert done.need.seconds == 1_000
    assert 700 < other.need.seconds <= 1_000


def test_only_jobs_seen_from_start_to_end_are_measured():
    jobs = [
        type(one)(**vars(one) | {"log": f"{at}.log"})
        for at, one in enumerate([job("a", 10, done=True)] * 5 + [job("a", 10)])
    ]

    def entry(started, ended, state="done", **more):
        return {"state": state, "started": started, "ended": ended, **more}

    entries = {
        "0.log": entry(100, 130),
        "1.log": entry(100, 130, killed_before=True),
        "2.log": entry(100, 90),  # its clock was set back
        "3.log": entry(100, 130, state="failed"),
        "5.log": entry(100, 130),  # its files are gone
    }
    assert took(jobs, entries) == {0: 30}


def test_the_records_say_what_the_jobs_ran_on(tmp_path):
    names = [f"results/records/{at}.json" for at in range(3)]
    for name, text in zip(names, [json.dumps({"cost": {"device": "cpu"}}), "{"], strict=False):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    jobs = [job("a", 1, outputs=(name,), done=True) for name in names]
    assert devices(jobs, tmp_path) == ["cpu"]
    assert devices([job("a", 1, outputs=(names[0],))], tmp_path) == []


def demo():
    """Jobs of a demo as they are planned, and what each took on two cores that others used too.

    It was another demo than today's: its models had other sizes, and were trained by themselves.
    """
    then = {
        "tables": {"models": str(Path(__file__).with_name("demo_models.tsv"))},
        "harmony": {"together": 1},
    }
    settings = load_settings(merged(then), ROOT)
    planner, tasks = Planner(settings), tuple(settings.harmony.tasks)
    jobs, seconds = [], []
    with Path(__file__).with_name("demo_run.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = row["checkpoint"]
            needs = {
                "evaluate_direct": lambda n=name: planner.evaluation(n, tasks),
                "train_before_test": lambda n=name: planner.training_before_test(n, tasks),
                "evaluate_mmlu": lambda n=name: planner.mmlu(n),
                "train_checkpoint": lambda n=name: planner.stage(n),
                "measure_stage_perplexity": lambda n=name: planner.perplexity(n, 1),
                "ask_prompt_run": lambda n=name, run=row["run"]: planner.prompt_run(n, run),
            }
            need: Need = needs[row["rule"]]()
            jobs.append(job(row["rule"], need.seconds, parts=need.parts, done=True))
            seconds.append(float(row["seconds"]))
    return jobs, seconds


@pytest.mark.parametrize("seed", range(5))
def test_half_of_a_real_runs_jobs_tell_what_the_others_took(seed):
    jobs, seconds = demo()
    by_rule, rng = defaultdict(list), random.Random(seed)
    for at, one in enumerate(jobs):
        by_rule[one.rule].append(at)
    known = [at for group in by_rule.values() for at in rng.sample(group, len(group) // 2)]
    pace = learn(jobs, {at: seconds[at] for at in known})

    def ratio(places):
        others = [at for at in places if at not in known]
        return sum(pace.seconds(jobs[at]) for at in others) / sum(seconds[at] for at in others)

    assert 1 / 1.3 < ratio(range(len(jobs))) < 1.3
    # Of three or so jobs each, which others slowed down: the plan alone is 1.8 times too short for all.
    for rule, group in by_rule.items():
        assert 1 / 1.75 < ratio(group) < 1.75, rule
