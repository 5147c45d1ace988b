"""How far a run is and when it ends, from jobs and journal alone."""

import pytest

from tests.unit.planning.test_plan import job
from workflow_scripts.planning.measured import AS_PLANNED
from workflow_scripts.planning.progress import ends, most_at_once, seen


def logged(name, seconds, *after, **more):
    made = job("evaluate_direct", seconds, *after, **more)
    return type(made)(**{**vars(made), "log": f"{name}.log"})


def entry(state, started, ended=None):
    return {"state": state, "started": started} | ({"ended": ended} if ended else {})


JOBS = [
    logged("a", 100, done=True),
    logged("b", 100, 0),
    logged("c", 100, 0),
    logged("d", 100, 1, 2),
    logged("e", 100),
]
ENTRIES = {
    "a.log": entry("done", 1_000, 1_200),
    "b.log": entry("running", 1_200),
    "c.log": entry("running", 1_200),
    "e.log": entry("failed", 1_000, 1_010),
}


def states(started=900):
    return [one.state for one in seen(JOBS, ENTRIES, {"b.log"}, started)]


def test_each_job_is_in_one_state():
    assert states() == ["done", "running", "stopped", "waiting", "failed"]


def test_what_failed_in_an_earlier_run_waits_for_this_one():
    assert states(started=1_100)[-1] == "waiting"


class TwiceAsLong:
    """A pace by which all takes twice what was planned."""

    jobs = 1

    def seconds(self, job):
        return 2 * job.need.seconds


@pytest.mark.parametrize(
    ("workers", "expected"),
    # b runs since 50 s and has 150 left; c, d, e take 200 each and d waits for b and c.
    [(1, 1_250 + 150 + 3 * 200), (2, 1_250 + 200 + 200), (100, 1_250 + 200 + 200)],
)
def test_the_end_follows_from_the_chain_and_from_how_many_go_side_by_side(workers, expected):
    found = seen(JOBS, ENTRIES, {"b.log"}, 900)
    until = ends(found, TwiceAsLong(), workers, now=1_250)
    assert until["harmony"] == expected


def test_of_a_finished_run_nothing_is_to_come():
    found = seen(JOBS[:1], ENTRIES, set(), 900)
    assert ends(found, AS_PLANNED, 4, now=2_000) == {}


def test_a_job_on_a_machine_whose_clock_is_ahead_has_run_for_no_time():
    found = seen(JOBS, ENTRIES, {"b.log"}, 900)
    running = found[1]
    assert running.runs_for(1_250) == 50
    assert running.runs_for(1_100) == 0
    assert ends(found, AS_PLANNED, 1, now=1_100)["harmony"] == 1_100 + 4 * 100


def test_jobs_side_by_side_are_counted_of_this_run_alone():
    assert most_at_once(ENTRIES, 900) == 2
    assert most_at_once(ENTRIES, 1_100) == 2
    assert most_at_once({}, 0) == 1
