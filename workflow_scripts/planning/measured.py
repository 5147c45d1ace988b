"""What the jobs that are done took, and what that says of those that are not.

What was planned for a job is a sum of parts (planning/spent.py), each of which is wrong by a factor of its own:
the device decides all that models do, and each kind of work has its own share of it. A rule, and a pack of tasks,
may be wrong beside that. All these factors are found together, each as near to 1 as the jobs that are done
allow, so that a rule that nothing is known of takes the device's factor, and no single job decides anything.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.planning.jobs import PlannedJob, rule_of
from workflow_scripts.planning.spent import PARTS

# How far a factor may lie from 1 before anything was measured, as a standard deviation of its logarithm: a
# processor in the place of a GPU is several hundred times slower, and starting is much the same everywhere.
_DEVICE, _START, _PART, _RULE, _PACK, _JOB = 3.0, 0.7, 0.7, 0.5, 0.3, 0.3
_COMPUTED = ("reading", "training", "generating")
# Jobs that lie further off, in standard deviations, count less: they resumed, or something held them up.
_OUTLYING = 2.0
_ROUNDS = 30
_RECORDS = "results/records/"


@dataclass(frozen=True)
class Pace:
    """How long jobs take here, learned from `jobs` of them."""

    jobs: int
    factors: Mapping[tuple[str, str], float]

    def seconds(self, job: PlannedJob) -> float:
        """What a job that is not done is expected to take."""
        parts = _parts(job) * [self._of("part", part) for part in PARTS]
        return float(parts.sum()) * self._of("rule", rule_of(job)) * self._of("pack", job.rule)

    def _of(self, kind: str, name: str) -> float:
        known = self.factors.get((kind, name))
        if known is None and kind == "part" and name in _COMPUTED:
            return self.factors.get(("device", ""), 1.0)
        return 1.0 if known is None else known


AS_PLANNED = Pace(0, {})


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
    """The factors that make what was planned nearest to what was measured, by Gauss and Newton."""
    seen = {place: s for place, s in measured.items() if jobs[place].need.seconds > 0}
    if not seen:
        return AS_PLANNED
    observed = [jobs[place] for place in seen]
    target = np.log(list(seen.values()))
    amounts = np.array([_parts(job) for job in observed])
    spread = {("device", ""): _DEVICE}
    spread |= {
        ("part", part): _START if part == "starting" else _PART
        for part, planned in zip(PARTS, amounts.sum(axis=0), strict=True)
        if planned
    }
    spread |= {("rule", rule_of(job)): _RULE for job in observed}
    spread |= {("pack", job.rule): _PACK for job in observed}
    names = list(spread)
    place_of = {name: place for place, name in enumerate(names)}
    prior = 1 / np.array(list(spread.values()))
    share_of_device = np.array([part in _COMPUTED for part in PARTS], float)

    at = np.zeros(len(names))
    for _ in range(_ROUNDS):
        logs = np.array([at[place_of.get(("part", part), 0)] for part in PARTS])
        logs = np.where([("part", part) in place_of for part in PARTS], logs, 0.0)
        logs += share_of_device * at[0]
        scaled = amounts * np.exp(logs)
        whole = scaled.sum(axis=1)
        slopes = np.zeros((len(observed), len(names)))
        for column, part in enumerate(PARTS):
            if ("part", part) in place_of:
                slopes[:, place_of["part", part]] = scaled[:, column] / whole
        slopes[:, 0] = (scaled * share_of_device).sum(axis=1) / whole
        predicted = np.log(whole)
        for row, job in enumerate(observed):
            for name in (("rule", rule_of(job)), ("pack", job.rule)):
                slopes[row, place_of[name]] = 1.0
                predicted[row] += at[place_of[name]]
        off = (target - predicted) / _JOB
        weight = np.sqrt(np.minimum(1.0, _OUTLYING / np.maximum(np.abs(off), 1e-9)))
        system = np.vstack([weight[:, None] * slopes / _JOB, np.diag(prior)])
        step = np.linalg.lstsq(system, np.concatenate([weight * off, -prior * at]), rcond=None)[0]
        step = np.clip(step, -2.0, 2.0)
        at += step
        if np.abs(step).max() < 1e-6:
            break
    factors = {name: math.exp(value) for name, value in zip(names, at, strict=True)}
    device = factors["device", ""]
    for part in _COMPUTED:
        if ("part", part) in factors:
            factors["part", part] *= device
    return Pace(len(seen), factors)


def priced(
    jobs: Iterable[PlannedJob], pace: Pace, measured: Mapping[int, float]
) -> list[PlannedJob]:
    """The jobs with what they took, or are expected to take by those that are done."""
    return [
        replace(job, need=replace(job.need, seconds=measured.get(place, pace.seconds(job))))
        for place, job in enumerate(jobs)
    ]


def _parts(job: PlannedJob) -> np.ndarray:
    known = job.need.parts
    start = max(0.0, job.need.seconds - sum(known.values()))
    return np.array([start if part == "starting" else known.get(part, 0.0) for part in PARTS])


def devices(jobs: Iterable[PlannedJob], folder: Path) -> list[str]:
    """What the jobs that are done ran on, as their records say."""
    found: dict[str, None] = {}
    for job in jobs:
        records = [path for path in job.outputs if path.startswith(_RECORDS)]
        for path in records[:1] if job.is_done else []:
            try:
                record = json.loads((folder / path).read_text(encoding="utf-8"))
                found[record["cost"]["device"]] = None
            except (OSError, ValueError, KeyError, TypeError):  # a broken cell; other steps say so
                continue
    return sorted(found)
