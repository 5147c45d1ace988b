"""What somebody who reads the plan's sums has to know of them: what they assume, and what will not fit."""

from collections.abc import Iterable, Sequence

from workflow_scripts.core.words import many
from workflow_scripts.planning.jobs import PlannedJob, rule_of
from workflow_scripts.planning.needs import UNKNOWN_SECONDS
from workflow_scripts.planning.wording import HOUR, clock
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.packs import RULES

_GUESS = f"each job of theirs is put down with {UNKNOWN_SECONDS // HOUR} hours"


def remarks(jobs: Sequence[PlannedJob], cluster: Cluster) -> list[str]:
    """A sentence or some each."""
    return [*_requests(jobs), *_too_long(jobs, cluster.longest_hours)]


def _requests(jobs: Sequence[PlannedJob]) -> list[str]:
    guessed = [job for job in jobs if job.need.is_guess and job.model]
    counted = {(j.assumed, rule_of(j)) for j in jobs if j.assumed and not j.need.is_guess}
    said = []
    if counted:
        said.append(
            f"{many(len(counted), 'request')} of the leaderboard {_is(len(counted))} counted as if"
            " accepted; `snakemake submit` checks them."
        )
    if left_out := _models(job for job in guessed if job.assumed):
        said.append(
            "Not in these hours, because config/models.tsv has no size for them, are requests of the"
            f" leaderboard for: {left_out}. Once `snakemake submit` has accepted them, {_GUESS}."
        )
    if unsure := _models(job for job in guessed if not job.assumed):
        said.append(f"Of unknown size, so that {_GUESS}: {unsure}.")
    return said


def _too_long(jobs: Iterable[PlannedJob], longest_hours: int) -> list[str]:
    """A sentence for each rule with jobs that will not end in the longest time the partition grants."""
    late: dict[str, list[PlannedJob]] = {}
    for job in jobs:
        # What fetches runs beside Snakemake, where no partition sets a limit.
        fetches = job.need.download_mb
        if not (job.is_done or fetches) and job.need.seconds > longest_hours * HOUR:
            late.setdefault(rule_of(job), []).append(job)
    return [_late(rule, group, longest_hours) for rule, group in late.items()]


def _late(rule: str, group: Sequence[PlannedJob], longest_hours: int) -> str:
    longest = max(job.need.seconds for job in group) / HOUR
    tries = min(job.retries for job in group)
    packed = any(sum(path.endswith(".json") for path in job.outputs) > 1 for job in group)
    lower = "lower cluster.tasks_per_job, or " if packed and rule in RULES.values() else ""
    often = f"up to {many(tries, 'time')}" if tries else "as often as the profile's retries say"
    too_few = ", which is too few here" if tries and longest > (tries + 1) * longest_hours else ""
    return (
        f"Warning: {many(len(group), 'job')} of {rule} {_is(len(group))} expected to take up to"
        f" {clock(longest)}, and cluster.longest_hours is {longest_hours}: {lower}raise"
        " cluster.longest_hours, if a partition grants more. A job that is out of time is submitted again"
        f" and resumes from what it has kept, {often}{too_few}."
    )


def _models(jobs: Iterable[PlannedJob]) -> str:
    return ", ".join(dict.fromkeys(job.model for job in jobs if job.model))


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
