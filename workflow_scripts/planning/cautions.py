"""What somebody who reads the plan's sums has to know of them: what they assume, and what will not fit."""

from collections.abc import Iterable, Sequence

from workflow_scripts.core.words import many
from workflow_scripts.planning.jobs import PlannedJob, rule_of
from workflow_scripts.planning.needs import UNKNOWN_SECONDS
from workflow_scripts.planning.wording import HOUR, clock
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.packs import RULES


def remarks(jobs: Sequence[PlannedJob], cluster: Cluster) -> list[str]:
    """A sentence or some each."""
    return [*_requests(jobs), *_too_long(jobs, cluster.longest_hours)]


def _requests(jobs: Iterable[PlannedJob]) -> list[str]:
    rows = [job for job in jobs if job.assumed]
    guessed = [job for job in jobs if job.need.is_guess and job.model]
    counted = {(job.assumed, rule_of(job)) for job in rows if not job.need.is_guess}
    said = []
    if counted:
        said.append(
            f"{many(len(counted), 'request')} of the leaderboard {_is(len(counted))} counted as if"
            " accepted; `snakemake submit` checks them."
        )
    if left_out := _models(job for job in guessed if job.assumed):
        said.append(
            "Not in these hours, because config/models.tsv has no size for them, are requests of the"
            f" leaderboard for: {left_out}. Once `snakemake submit` has accepted them,"
            f" {_guess()}."
        )
    if unsure := _models(job for job in guessed if not job.assumed):
        said.append(f"Of unknown size, so that {_guess()}: {unsure}.")
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
    raised = "raise cluster.longest_hours, if a partition grants more"
    packed = any(sum(path.endswith(".json") for path in job.outputs) > 1 for job in group)
    mend = (
        f"lower cluster.tasks_per_job, or {raised}" if packed and rule in RULES.values() else raised
    )
    often = f"up to {many(tries, 'time')}" if tries else "as often as the profile's retries say"
    enough = (
        "" if not tries or longest <= (tries + 1) * longest_hours else ", which is too few here"
    )
    return (
        f"Warning: {many(len(group), 'job')} of {rule} {_is(len(group))} expected to take up to"
        f" {clock(longest)}, and cluster.longest_hours is {longest_hours}: {mend}. A job that is out"
        f" of time is submitted again and resumes from what it has kept, {often}{enough}."
    )


def _models(jobs: Iterable[PlannedJob]) -> str:
    return ", ".join(dict.fromkeys(job.model for job in jobs if job.model))


def _guess() -> str:
    return f"each job of theirs is put down with {UNKNOWN_SECONDS // HOUR} hours"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
