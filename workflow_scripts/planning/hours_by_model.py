"""Which models the GPU hours go to: the list that whoever has too few hours shortens."""

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter

from workflow_scripts.planning.jobs import PlannedJob
from workflow_scripts.planning.wording import HOUR, hours

_NAMED, _WIDEST = 15, 38


def hours_by_model(jobs: Iterable[PlannedJob]) -> dict[str, float]:
    """The most first; what is made from a model counts as the model."""
    spent: dict[str, float] = defaultdict(float)
    for job in jobs:
        if job.need.gpus and job.model:
            spent[job.model] += job.need.seconds * job.need.gpus / HOUR
    return dict(sorted(spent.items(), key=itemgetter(1), reverse=True))


def lines_by_model(jobs: Iterable[PlannedJob]) -> list[str]:
    """In two columns, those that take most by name."""
    spent = list(hours_by_model(jobs).items())
    if len(spent) < 2:
        return []
    named, others = spent[:_NAMED], spent[_NAMED:]
    if others:
        named.append((f"{len(others)} others", sum(value for _, value in others)))
    cells = [f"{name:<{_WIDEST}} {hours(value):>6}" for name, value in named]
    half = (len(cells) + 1) // 2
    right = [*cells[half:], ""]
    columns = zip(cells[:half], right, strict=False)
    return [
        "GPU hours by model, with the checkpoints that are made from it:",
        *(f"  {left}   {beside}".rstrip() for left, beside in columns),
    ]
