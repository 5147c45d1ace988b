"""One model minus another, under three questions: what else could have come out, and what would settle it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.words import joined
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.separation import (
    Separation,
    items_needed,
    seeds_needed,
    separation,
    tasks_needed,
)
from workflow_scripts.stats.significance import holm, z_test
from workflow_scripts.studies.harmony.separate_requests import (
    SeparateGrid,
    SeparateRequest,
)
from workflow_scripts.studies.ranking.frame import OVERALL, OWN
from workflow_scripts.studies.ranking.grid import Grid, read_grids

ITEMS, TRAININGS, TASKS = "items", "trainings", "tasks"
COLUMNS = columns(
    ("text", "scores protocol question task"),
    ("whole", "tasks"),
    ("number", "difference stderr low high probability shows_from needed hours z p_holm"),
)


def separate(asked: SeparateRequest) -> pd.DataFrame:
    """A row for each protocol and question, over all tasks that both models have, and one for each task."""
    rows: list[dict[str, Any]] = []
    for one in asked.grids:
        inputs = Inputs({name: list(paths) for name, paths in one.files.items()})
        for grid in read_grids(inputs, one.asked).values():
            for origins, pair in _pairs(grid, one, asked):
                seeds = [asked.seeds if origin == OWN else 1 for origin in origins]
                about = {"scores": _called(origins, one), "protocol": grid.protocol}
                rows += [about | row for row in _of_pair(pair, seeds, one, grid.protocol)]
    if not rows:
        raise UserError(
            f"{asked.first} and {asked.second} have no task in common in the scores that are there; expected two"
            " models that were scored on the same tasks."
        )
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _pairs(
    grid: Grid, one: SeparateGrid, asked: SeparateRequest
) -> Iterator[tuple[list[str], ScoreErrors]]:
    """The two models on the tasks that both have, from each source that has both, or from two if none has.

    Published scores are floored by the direct ones, and ours are compared with them when they are too.
    """
    protocols = one.asked.grid.protocols
    floored = {of.scores_of for of in protocols.values()}
    if grid.protocol in floored if one.mixed else protocols[grid.protocol].scores_of:
        return
    names = grid.models["model"] + grid.models["variant"]
    labels = [grid.models.index[names == name] for name in asked.models]
    for pair in product(*labels):
        origins = grid.models.loc[list(pair), "origin"].tolist()
        scores = grid.values.loc[list(pair)].dropna(axis=1)
        if not scores.empty and (one.mixed or len(set(origins)) == 1):
            yield origins, grid.errors.part(scores)
            if one.mixed:
                return


def _called(origins: list[str], one: SeparateGrid) -> str:
    """Where both come from; results of others are said to be."""
    if not one.asked.grid.run:
        return one.asked.grid.called
    names = {OWN: "own scores"} | {of: f"{of}, imported" for of in one.imports}
    return joined([names.get(of, of) for of in dict.fromkeys(origins)])


def _of_pair(
    pair: ScoreErrors, seeds: list[int], one: SeparateGrid, protocol: str
) -> Iterator[dict[str, Any]]:
    first, second = np.array([0]), np.array([1])
    apart = (pair.scores.iloc[0] - pair.scores.iloc[1]).to_numpy()
    errors = pair.of_differences(first, second)[0]
    tasks, mean = len(apart), float(apart.mean())
    # With no training, with theirs, and with one of each, whatever number these scores are means of.
    of_items, of_all, of_one = (
        float(
            replace(pair, training=pair.training.mul(times, axis=0)).of_mean_differences(
                first, second
            )[0]
        )
        for times in (np.zeros(2), np.ones(2), np.sqrt(seeds))
    )
    once = math.sqrt(max(of_one**2 - of_items**2, 0.0))
    trains = one.asked.grid.protocols[protocol].after_training
    now = max(seeds) if trains else 1
    by_model = list(one.hours[protocol].values())

    def question(of: str, found: Separation, needed: float, **more: float) -> dict[str, Any]:
        spent = math.nan
        if by_model and math.isfinite(needed):
            spent = sum(model.of(pair.scores, **more) for model in by_model)
        about = {"question": of, "task": OVERALL, "tasks": tasks}
        return about | found._asdict() | {"needed": needed, "hours": spent}

    needed = items_needed(mean, of_items)
    yield question(ITEMS, separation(mean, of_items), needed, items=needed, trainings=now)
    if trains:
        error, once = (of_all, once) if once else (math.nan, math.nan)
        needed = seeds_needed(mean, of_items, once)
        yield question(TRAININGS, separation(mean, error), needed, trainings=needed)
    # Other tasks have other items: never less than these do by themselves, if by chance tasks spread so little.
    spread = float(apart.std(ddof=1)) / math.sqrt(tasks) if tasks > 1 else math.nan
    spread = max(spread, of_all) if tasks > 1 and of_all > 0 else spread
    needed = tasks_needed(mean, spread * math.sqrt(tasks))
    found = separation(mean, spread, tasks - 1)
    yield question(TASKS, found, needed, times=needed / tasks, trainings=now)
    z, p = z_test(apart, errors)
    each = {"task": list(pair.scores), "z": z, "p_holm": holm(p)}
    of = {"question": TRAININGS if trains and once > 0 else ITEMS, "tasks": 1}
    for row, *numbers in zip(pd.DataFrame(each).to_dict("records"), apart, errors, strict=True):
        yield of | row | separation(*numbers)._asdict()
