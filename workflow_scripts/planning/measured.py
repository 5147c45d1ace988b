"""What the jobs that are done took, and what that says of those that are not.

For each rule the ratio of measured to planned seconds is learned, drawn towards that of all jobs that are done, and
this towards 1: so a rule of which nothing is known takes the ratio of all. No single job decides anything.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.planning.jobs import PlannedJob, rule_of

# How many jobs what is drawn towards counts as: a machine may be a hundred times slower than another, and then all
# rules are; a rule by itself is seldom far off.
_OF_ALL, _OF_A_RULE = 0.1, 1.0
# A ratio further from the middle one than this factor counts as this: its job resumed, or something held it up.
_OUTLYING = math.log(2)
# A long job says more than a short one, as the hours do, but not more than so many of the usual length.
_LONGEST = 3
_RECORDS = "results/records/"


@dataclass(frozen=True)
class Pace:
    """How long jobs take here over what was planned, learned from `jobs` of them."""

    jobs: int
    of_all: float
    of_rules: Mapping[str, float]

    def seconds(self, job: PlannedJob) -> float:
        """What a job that is not done is expected to take."""
        return job.need.seconds * self.of_rules.get(rule_of(job), self.of_all)


AS_PLANNED = Pace(0, 1.0, {})


def took(jobs: Sequence[PlannedJob], entries: Mapping[str, Mapping[str, Any]]) -> dict[int, float]:
    """Seconds of the jobs that are done, by their place, where the journal saw them from start to end."""
    found = {}
    for place, job in enumerate(jobs):
        entry = entries.get(job.log or "")
        if entry is None or not job.is_done or entry["state"] != "done":
            continue
        seconds = entry["ended"] - entry["started"]
        # One that was killed before resumed, and a clock that was set back says nothing.
        if seconds > 0 and not entry.get("killed_before"):
            found[place] = seconds
    return found


def learn(jobs: Sequence[PlannedJob], measured: Mapping[int, float]) -> Pace:
    seen = [(jobs[place], s) for place, s in measured.items() if jobs[place].need.seconds > 0]
    if not seen:
        return AS_PLANNED
    by_rule: dict[str, list[tuple[PlannedJob, float]]] = {}
    for job, seconds in seen:
        by_rule.setdefault(rule_of(job), []).append((job, seconds))
    of_all = _ratio(seen, 1.0, _OF_ALL)
    return Pace(
        len(seen), of_all, {rule: _ratio(of, of_all, _OF_A_RULE) for rule, of in by_rule.items()}
    )


def _ratio(seen: Sequence[tuple[PlannedJob, float]], towards: float, counted: float) -> float:
    """The mean of the logarithms, in which `towards` counts as so many jobs of the usual length."""
    planned = np.array([job.need.seconds for job, _ in seen])
    logs = np.log([seconds for _, seconds in seen]) - np.log(planned)
    middle = np.median(logs)
    near = np.clip(logs, middle - _OUTLYING, middle + _OUTLYING)
    weights = np.minimum(planned / np.median(planned), _LONGEST)
    total = counted * math.log(towards) + weights @ near
    return math.exp(total / (counted + weights.sum()))


def priced(
    jobs: Iterable[PlannedJob], pace: Pace, measured: Mapping[int, float]
) -> list[PlannedJob]:
    """The jobs with what they took, or are expected to take by those that are done."""
    return [
        replace(job, need=replace(job.need, seconds=measured.get(place, pace.seconds(job))))
        for place, job in enumerate(jobs)
    ]


def devices(jobs: Iterable[PlannedJob], folder: Path) -> list[str]:
    """What the jobs that are done ran on, as their records say."""
    found = set()
    for job in jobs:
        records = [path for path in job.outputs if path.startswith(_RECORDS)]
        for path in records[:1] if job.is_done else []:
            try:
                record = json.loads((folder / path).read_text(encoding="utf-8"))
                found.add(record["cost"]["device"])
            except (OSError, ValueError, KeyError, TypeError):  # a broken cell; other steps say so
                continue
    return sorted(found)
