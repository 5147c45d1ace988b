"""What the plan's sums assume, and what will not fit, is said in sentences."""

from tests.unit.planning.test_plan import job
from workflow_scripts.planning.cautions import remarks
from workflow_scripts.settings.cluster import Cluster

FOUR_HOURS = Cluster(longest_hours=4)


def packed(hours, **fields):
    return job("train_before_test_2", hours * 3_600, outputs=("a.json", "b.json"), **fields)


def test_a_job_that_takes_longer_than_the_partition_grants_is_warned_of():
    jobs = [packed(5, retries=5), packed(6, retries=5), packed(4, retries=5)]
    (said,) = remarks(jobs, FOUR_HOURS)
    assert "2 jobs of train_before_test are expected to take up to 6 h 00" in said
    assert "cluster.longest_hours is 4: lower cluster.tasks_per_job, or raise" in said
    assert "resumes from what it has kept, up to 5 times." in said
    assert remarks(jobs, Cluster(longest_hours=6)) == []


def test_where_even_all_tries_are_too_few_it_says_so():
    (said,) = remarks([packed(9, retries=1)], FOUR_HOURS)
    assert "up to 1 time, which is too few here." in said


def test_only_what_has_several_tasks_can_have_fewer():
    alone = job("train_before_test", 5 * 3_600, outputs=("a.json", "a.parquet"))
    (said,) = remarks([alone], FOUR_HOURS)
    assert "tasks_per_job" not in said and "raise cluster.longest_hours" in said


def test_no_partition_limits_what_is_done_or_runs_beside_snakemake():
    jobs = [packed(9, done=True), job("fetch_model", 9 * 3_600, download_mb=10)]
    assert remarks(jobs, FOUR_HOURS) == []


def test_requests_that_nobody_has_checked_are_counted_and_said():
    row = {"assumed": "a--A~float32", "model": "a/A"}
    jobs = [job("evaluate_suite_1", 9, **row), job("evaluate_suite_2", 9, **row)]
    jobs.append(job("train_suite", 9, **row))  # another request, for the same row
    (said,) = remarks(jobs, FOUR_HOURS)
    assert said.startswith("2 requests of the leaderboard are counted as if accepted")
    assert "snakemake submit" in said


def test_models_of_unknown_size_are_named():
    unknown = {"model": "b/B", "is_guess": True}
    jobs = [job("evaluate_suite", 0, assumed="b--B~float32", **unknown)] * 2
    (said,) = remarks(jobs, FOUR_HOURS)
    assert said.startswith("Not in these hours") and said.count("b/B") == 1
    (said,) = remarks([job("evaluate_suite", 9, **unknown)], FOUR_HOURS)
    assert said == "Of unknown size, so that each job of theirs is put down with 4 hours: b/B."
