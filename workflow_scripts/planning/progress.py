"""How far a run is: what is done, running, failed and waiting, and when it will end."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workflow_scripts.planning.jobs import PlannedJob
from workflow_scripts.planning.measured import Pace

State = Literal["done", "running", "failed", "stopped", "waiting"]


@dataclass(frozen=True)
class Seen:
    """A job beside what the journal has of it."""

    job: PlannedJob
    state: State
    since: float | None = None  # of one that runs

    def runs_for(self, now: float) -> float:
        """Seconds; none where the clock of the machine that it runs on is ahead of ours."""
        return 0.0 if self.since is None else max(0.0, now - self.since)


def seen(
    jobs: Sequence[PlannedJob],
    entries: Mapping[str, Mapping[str, Any]],
    alive: set[str],
    started: float,
) -> list[Seen]:
    """`alive` has the logs of jobs whose process, or Slurm job, is still there."""
    return [_seen(job, entries.get(job.log or "", {}), alive, started) for job in jobs]


def _seen(job: PlannedJob, entry: Mapping, alive: set[str], started: float) -> Seen:
    last = entry.get("state")
    if last == "running" and job.log in alive:
        return Seen(job, "running", entry["started"])
    if job.is_done:
        return Seen(job, "done")
    if last == "running":
        return Seen(job, "stopped")
    return Seen(job, "failed" if last == "failed" and entry["ended"] >= started else "waiting")


def ends(found: Sequence[Seen], pace: Pace, workers: int, now: float) -> dict[str, float]:
    """When the last job of each study will end, with so many at a time; failed ones are tried again.

    Jobs are taken in their order, each by the machine that is free first, once what it waits for is
    there.
    """
    machines = [now] * max(1, workers)
    heapq.heapify(machines)
    finished: list[float] = []
    by_study: dict[str, float] = {}
    for one in found:
        ready = max((finished[place] for place in one.job.after), default=now)
        if one.state == "done" or not one.job.need.mem_mb:
            finished.append(ready)
            continue
        left = pace.seconds(one.job)
        if one.since is not None:
            left = max(left - one.runs_for(now), 0.1 * left)
        end = max(ready, heapq.heappop(machines)) + left
        heapq.heappush(machines, end)
        finished.append(end)
        by_study[one.job.study] = max(end, by_study.get(one.job.study, now))
    return by_study


def most_at_once(entries: Mapping[str, Mapping[str, Any]], started: float) -> int:
    """How many jobs of this run went side by side at the most."""
    changes = []
    for entry in entries.values():
        if entry["started"] >= started:
            changes += [(entry["started"], 1), (entry.get("ended", float("inf")), -1)]
    running, most = 0, 1
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most
