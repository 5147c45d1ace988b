"""What the scores of a grid are uncertain by: items that its models share, and trainings of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.influences import errors_by_row
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.stats.item_errors import ItemErrors, assumed_errors, with_others
from workflow_scripts.stats.reruns import Reruns
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking.frame import STUDY
from workflow_scripts.studies.ranking.requests import GridRequest
from workflow_scripts.studies.ranking.trainings import (
    published_trainings,
    spread_of_seeds,
    trainings_of,
)

_ROW = ["protocol", "label"]


class Cells(NamedTuple):
    """One protocol of a grid: labels down, tasks across, the mean over seeds of each cell."""

    value: pd.DataFrame
    stderr: pd.DataFrame
    between: pd.DataFrame
    """Variance over seeds; NaN of a single one."""
    seeds: pd.DataFrame
    models: pd.DataFrame
    """By label, as those of a Grid."""
    absent: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class KnownErrors:
    """What is known of a grid's errors beside the standard errors of its scores."""

    measured: pd.DataFrame | None = None
    """From items: a row for each protocol, label and task, as scores.influences has them."""
    correlations: Mapping[str, float] = field(default_factory=dict)
    """By task, how right answers of two models correlate over items that others released."""
    release: pd.DataFrame | None = None
    """The scores after training of another grid's second release."""
    reruns: Reruns | None = None
    """For a run that trains each cell once: what the published releases say of a training."""

    def correlation(self, task: str) -> float:
        usual = float(np.median(list(self.correlations.values()))) if self.correlations else 0.0
        return self.correlations.get(task, usual)


def labelled(scores: pd.DataFrame) -> pd.Series:
    """In the grid of a run: each model's name, with where its score is from if that is not the run."""
    name = scores["model"] + scores["variant"]
    return name.where(scores["study"] == STUDY, name + " [" + scores["study"] + "]")


def read_known(inputs: Inputs, request: GridRequest) -> KnownErrors:
    released = pd.read_csv(inputs.one("correlations")).set_index("task")["correlation"].to_dict()
    if not request.grid.run:
        release = read_panel(inputs.one("release")) if request.grid.release else None
        return KnownErrors(correlations=released, release=release)
    measured = next(map(pd.read_parquet, inputs["errors"]), None)
    if measured is not None:
        measured = measured[measured["metric"] == measured["task"].map(request.metrics)]
        measured = measured.assign(label=labelled(measured))
    reruns = None
    if request.trainings == "published":
        leaderboard, cells = (pd.read_csv(inputs.one(name)) for name in ("leaderboard", "cells"))
        reruns = published_trainings(leaderboard, cells, request.models)
    return KnownErrors(measured, released, reruns=reruns)


def errors_of_grid(
    parts: Mapping[str, Cells], request: GridRequest, known: KnownErrors
) -> dict[str, ScoreErrors]:
    """By protocol; under all protocols a task's models were asked the same items."""
    tasks = dict.fromkeys(task for cells in parts.values() for task in cells.value)
    items = {task: _of_task(task, parts, known) for task in tasks}
    found = {}
    for stream, (protocol, cells) in enumerate(parts.items()):
        of_protocol = {}
        for task in cells.value:
            index, errors = items[task]
            places = index.get_indexer([(protocol, label) for label in cells.value.index])
            of_protocol[task] = errors.part(places)
        spread = _training(protocol, parts, request, known).reindex_like(cells.value).fillna(0.0)
        found[protocol] = ScoreErrors(cells.value, of_protocol, spread, stream)
    return found


def _of_task(
    task: str, parts: Mapping[str, Cells], known: KnownErrors
) -> tuple[pd.MultiIndex, ItemErrors]:
    """Under all protocols at once: rows are protocol and label."""
    rows = {
        (protocol, label): error
        for protocol, cells in parts.items()
        if task in cells.stderr
        for label, error in cells.stderr[task].items()
    }
    measured = known.measured
    of_task = measured[measured["task"] == task] if measured is not None else pd.DataFrame()
    if of_task.empty:
        errors = assumed_errors(np.array(list(rows.values()), float), known.correlation(task))
        return pd.MultiIndex.from_tuples(rows, names=_ROW), errors
    index, found = errors_by_row(of_task, _ROW)
    others = {row: error for row, error in rows.items() if row not in index}
    if others:
        index = index.append(pd.MultiIndex.from_tuples(others, names=_ROW))
        stderrs = np.array(list(others.values()), float)
        found = with_others(found, stderrs, known.correlation(task))
    return index, found


def _training(
    protocol: str, parts: Mapping[str, Cells], request: GridRequest, known: KnownErrors
) -> pd.DataFrame:
    """The spread of each score over trainings; 0 where nothing is known of it."""
    cells, release = parts[protocol], request.grid.release
    if (cells.seeds > 1).to_numpy().any():
        return spread_of_seeds(cells.between, cells.seeds)
    reruns = known.reruns
    if known.release is not None and release and release.protocol == protocol:
        floor = parts[request.grid.baseline].value
        reruns = trainings_of(known.release, cells.value, floor, cells.models)
    if reruns is None or not request.grid.protocols[protocol].after_training:
        return cells.value * 0.0
    return reruns.spread(cells.models["model"], list(cells.value))
