"""What stands on the leaderboard beside the models and is none: floors, random answers, published scores."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_scripts.render.text import is_known
from workflow_scripts.render.words import CLEAR
from workflow_scripts.stats.shares import share_error
from workflow_scripts.studies.suite.table_requests import SuiteBoard, SuiteTables


@dataclass(frozen=True)
class Baseline:
    """Scores and standard errors are by task; what is not known is not in them."""

    name: str
    what: str
    scores: dict[str, float]
    errors: dict[str, float]
    average: float | None
    source: str | None = None


def baselines(frame: pd.DataFrame, request: SuiteTables | SuiteBoard) -> list[Baseline]:
    """Of the leaderboard's frame; where rows had other items, the highest floor of all."""
    found = [
        (
            "Floor",
            "The better of random answers and of one fixed answer, on each task. A score that does not"
            f" clear it by {CLEAR} standard errors shows nothing.",
            _highest(frame, request, "floor"),
        ),
        (
            "Random answers",
            "What answering at random scores on average. An open question has no such score.",
            _highest(frame, request, "chance"),
        ),
    ]
    made = [_baseline(name, what, scores, request) for name, what, scores in found]
    for one in request.baselines:
        share = one.percent / 100
        error = float(share_error(share, one.items))
        own = f", by a protocol of its own ({'; '.join(one.protocol)})" if one.protocol else ""
        what = f"As published{own}. {one.what}"
        scores = {one.task: share}
        made.append(_baseline(one.name, what, scores, request, {one.task: error}, one.source))
    return made


def _highest(frame: pd.DataFrame, request: SuiteTables | SuiteBoard, part: str) -> dict[str, float]:
    highest = {one.task: frame[f"{one.task}_{part}"].max() for one in request.tasks}
    return {task: float(value) for task, value in highest.items() if is_known(value)}


def _baseline(
    name: str,
    what: str,
    scores: dict[str, float],
    request: SuiteTables | SuiteBoard,
    errors: dict[str, float] | None = None,
    source: str | None = None,
) -> Baseline:
    whole = set(scores) == {one.task for one in request.tasks}
    average = float(np.mean(list(scores.values()))) if whole else None
    return Baseline(name, what, scores, errors or {}, average, source)
