"""Which plans a search proposes and what they are compared with, from the numbers of its record alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Literal, Protocol

from workflow_scripts.core.ids import UNCHANGED
from workflow_scripts.core.plan_search import (
    KINDS,
    Candidate,
    Prediction,
    evenly_spaced,
    random_plans,
)
from workflow_scripts.core.records import Metric
from workflow_scripts.core.seeds import derive_seed

# The two stretches of text: what predictions are made from, and what they are held against.
SEARCH, CHECK = "search", "check"


class PlanCounts(Protocol):
    """How many plans are proposed of each kind and depth, and how many are drawn of each kind."""

    @property
    def proposals(self) -> int: ...
    @property
    def random_plans(self) -> int: ...


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan that is measured, and why."""

    candidate: Candidate
    role: Literal["proposed", "evenly spaced", "random"]


def losses_of(metrics: Iterable[Metric]) -> dict[str, float]:
    """By plan: nats a token above the unchanged model's, on the text that plans are searched on."""
    found = {
        metric.condition.plan: log(metric.value)
        for metric in metrics
        if metric.name == "perplexity" and metric.subset == SEARCH and metric.condition
    }
    return {plan: loss - found[UNCHANGED] for plan, loss in found.items() if plan is not None}


def proposals(
    prediction: Prediction, depths: Sequence[int], wanted: PlanCounts, seed: int
) -> list[MeasuredPlan]:
    """Of each kind: the best plans of each depth, evenly spaced ones beside them, and random ones."""
    layers, found = prediction.layers, []
    for kind in KINDS:
        for depth in depths:
            best = prediction.best(kind, depth, wanted.proposals)
            found += [MeasuredPlan(one, "proposed") for one in best]
            found.append(MeasuredPlan(evenly_spaced(kind, layers, depth), "evenly spaced"))
        if depths:
            drawn = random_plans(
                kind, layers, min(depths), wanted.random_plans, derive_seed(seed, kind)
            )
            found += [MeasuredPlan(one, "random") for one in drawn]
    return found
