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

# A machine that is 40 times slower than planned, by rule.
SLOWER = {"evaluate_direct": 40.0, "train_before_test": 90.0, "measure_latency": 25.0}


def simulated(seed, each=20):
    """Jobs of each rule in two packs, and what they take: as much longer as their rule, and each a little off."""
    rng = random.Random(seed)
    jobs = [
        job(f"{rule}_{at % 2 + 1}", 12 + rng.expovariate(1 / 300), done=True)
        for rule in SLOWER
        for at in range(each)
    ]
    seconds = [one.need.seconds * factor(one) * rng.lognormvariate(0, 0.3) for one in jobs]
    return jobs, dict(enumerate(seconds))


def factor(one):
    return SLOWER[one.rule[:-2]]


def some_of(measured, share, seed):
    return dict(random.Random(seed).sample(list(measured.items()), int(share * len(measured))))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("share", "most"), [(0.5, 1.25), (0.1, 1.8)])
def test_jobs_that_were_not_learned_from_are_planned_nearer_to_what_they_take(seed, share, most):
    jobs, measured = simulated(seed)
    known = some_of(measured, share, seed)
    others = [at for at in measured if at not in known]
    actual = sum(measured[at] for at in others)
    pace = learn(jobs, known)
    assert pace.jobs == len(known)
    assert 1 / most < sum(pace.seconds(jobs[at]) for at in others) / actual < most
    assert sum(jobs[at].need.seconds for at in others) < actual / 20  # as it was planned


def test_a_rule_that_nothing_is_known_of_takes_the_ratio_of_all_jobs_done():
    jobs, measured = simulated(1)
    others = {at: seconds for at, seconds in measured.items() if factor(jobs[at]) != 90}
    training = next(one for one in jobs if factor(one) == 90)
    planned = training.need.seconds
    of_all = learn(jobs, others).seconds(training) / planned
    assert 25 < of_all < 40
    # Of one job of its own it takes a part.
    first = jobs.index(training)
    ratio = learn(jobs, others | {first: measured[first]}).seconds(training) / planned
    assert of_all < ratio < 0.9 * measured[first] / planned


@pytest.mark.parametrize("hung", [100.0, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_one_job_that_hung_or_had_nothing_left_to_do_moves_no_plan(seed, hung):
    jobs, measured = simulated(seed)
    longest = max(measured, key=lambda at: jobs[at].need.seconds)
    before, after = (
        learn(jobs, measured),
        learn(jobs, measured | {longest: hung * measured[longest]}),
    )
    for one in jobs:
        most = 0.2 if factor(one) == factor(jobs[longest]) else 0.02
        assert after.seconds(one) == pytest.approx(before.seconds(one), rel=most)


def test_as_long_as_nothing_is_done_the_plan_holds():
    jobs, _ = simulated(3)
    assert learn(jobs, {}) is AS_PLANNED
    assert [AS_PLANNED.seconds(one) for one in jobs] == [one.need.seconds for one in jobs]
    assert learn([job("all", 0)], {0: 5.0}) is AS_PLANNED


def test_what_is_done_is_priced_by_what_it_took_and_the_rest_by_that():
    jobs = [job("evaluate_direct", 100) for _ in range(2)]
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

    It was another demo than today's: its models had other sizes.
    """
    then = {"tables": {"models": str(Path(__file__).with_name("demo_models.tsv"))}}
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
            jobs.append(job(row["rule"], need.seconds, done=True))
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

    assert 1 / 1.25 < ratio(range(len(jobs))) < 1.25  # and the plan alone 1.8 times
    # Of three or so jobs each, which others slowed down: the plan alone is up to 3.3 times too short for a rule.
    for rule, group in by_rule.items():
        assert 1 / 1.85 < ratio(group) < 1.85, rule
