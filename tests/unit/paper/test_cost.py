"""Planned beside actual, and what to correct."""

import pytest

from tests.records import make_items, record_fields
from tests.written import written
from workflow_scripts.core.files import write_json
from workflow_scripts.core.records import Cost, write_record
from workflow_scripts.paper.cost import TABLE, cost_table
from workflow_scripts.paper.requests import CostTable
from workflow_scripts.planning.jobs import PlannedJob
from workflow_scripts.planning.needs import Need
from workflow_scripts.settings.cluster import Cluster

CLUSTER = Cluster(reading_use=0.3, training_use=0.4, generating_use=0.5, reserve=2.0)


@pytest.fixture
def run(tmp_path):
    """Two jobs of one rule that ran twice as long as planned, with half the tokens; one that did not run."""

    def made(
        rule,
        gpus,
        *,
        seconds,
        tokens,
        mem=900,
        broken=(),
        mostly="reading",
        cluster=CLUSTER,
        state="done",
    ):
        jobs, journal = [], {}
        for number in range(2):
            log = f"logs/{rule}/{number}.log"
            ended = {"started": 0.0, "ended": float(seconds), "peak_mb": mem}
            journal[log] = ended | {"state": state}
            record = tmp_path / f"results/records/harmony/direct/{number}.json"
            record.parent.mkdir(parents=True, exist_ok=True)
            if number in broken:
                about = {"record": str(record), "reason": "It died.", "log": "logs/x.log"}
                write_json(record, {"broken": about})
            else:
                fields = record_fields()
                peak = {"peak_gpu_memory_mb": 5_000 if gpus else None}
                fields["volatile"] = fields["volatile"].model_copy(update=peak)
                fields["cost"] = Cost(tokens=tokens, device="cpu")
                write_record(record, make_items(), **fields)
            jobs.append(
                PlannedJob(
                    rule=rule,
                    study="harmony",
                    need=Need(
                        3_600,
                        1_000,
                        gpus=gpus,
                        gpu_mb=8_000 * gpus,
                        tokens=1_000,
                        mostly=mostly,
                    ),
                    asked_minutes=130,
                    threads=1,
                    is_done=True,
                    log=log,
                    outputs=(f"results/records/harmony/direct/{number}.json",),
                    after=(),
                )
            )
        late = {**vars(jobs[0]), "log": f"logs/{rule}/none.log", "is_done": False}
        return cost_table([*jobs, PlannedJob(**late)], journal, cluster, tmp_path)

    return made


def test_hours_add_up_and_memory_is_the_largest(run):
    (row,) = run("evaluate_direct", 1, seconds=7_200, tokens=1_000).to_dict("records")
    assert (row["jobs"], row["measured"]) == (3, 2)
    assert (row["planned_hours"], row["hours"], row["time_ratio"]) == (2, 4, 2)
    assert (row["planned_mem_mb"], row["mem_mb"]) == (1_000, 900)
    assert (row["planned_gpu_mb"], row["gpu_mb"]) == (8_000, 5_000)
    assert (row["planned_tokens"], row["tokens"], row["token_ratio"]) == (2_000, 2_000, 1)


def test_the_rate_that_would_have_made_the_plan_right_is_named(run):
    (row,) = run("evaluate_direct", 1, seconds=7_200, tokens=1_000).to_dict("records")
    assert row["correct"] == "cluster.reading_use 0.3 -> 0.15"
    (row,) = run("evaluate_direct", 1, seconds=4_000, tokens=1_000).to_dict("records")
    assert row["correct"] is None


@pytest.mark.parametrize(
    ("mostly", "named"),
    [
        ("reading", "cluster.reading_use 0.3 -> 0.15"),
        ("training", "cluster.training_use 0.4 -> 0.2"),
        ("generating", "cluster.generating_use 0.5 -> 0.25"),
        (None, "cluster.reserve at least 2"),
    ],
)
def test_the_rate_is_that_of_what_takes_most_of_the_time_whatever_the_rule(run, mostly, named):
    for rule in ("evaluate_suite_2", "train_suite", "measure_plan_search"):
        (row,) = run(rule, 1, seconds=7_200, tokens=1_000, mostly=mostly).to_dict("records")
        assert row["correct"] == named


def test_no_share_is_named_where_a_report_stands_for_them(run, tmp_path):
    measured = CLUSTER.model_copy(update={"measured": tmp_path / "gpu.json"})
    found = run("evaluate_suite", 1, seconds=7_200, tokens=1_000, cluster=measured)
    assert found["correct"].tolist() == ["cluster.reserve at least 2"]


def test_wrong_tokens_are_to_blame_before_the_rate(run):
    (row,) = run("evaluate_direct", 1, seconds=7_200, tokens=2_000).to_dict("records")
    assert row["correct"] == "tokens in work.tsv x 2"


def test_without_a_gpu_more_time_is_reserved_and_memory_beyond_the_plan_is_said(run):
    (row,) = run("evaluate_direct", 0, seconds=10_800, tokens=1_000, mem=1_500).to_dict("records")
    assert row["correct"] == "cluster.reserve at least 3; memory was 1.5 times the plan"


@pytest.mark.parametrize("state", ["running", "failed"])
def test_jobs_that_did_not_end_well_are_left_out(run, state):
    assert run("evaluate_direct", 1, seconds=9, tokens=1, state=state).empty


def test_a_cell_that_broke_has_a_time_and_no_tokens(run):
    (row,) = run("evaluate_direct", 1, seconds=7_200, tokens=1_000, broken=[0]).to_dict("records")
    assert (row["measured"], row["hours"], row["tokens"]) == (2, 4, 1_000)


def test_the_table_is_written_even_when_nothing_was_measured(run, tmp_path):
    asked = CostTable(snakefile="Snakefile", config={}, cluster=CLUSTER)
    for table in (
        run("evaluate_direct", 1, seconds=7_200, tokens=10),
        cost_table([], {}, CLUSTER, tmp_path),
    ):
        found = written(TABLE, table, tmp_path, asked)
        assert found.md and found.tex
        assert found.again["rule"].tolist() == table["rule"].tolist()
