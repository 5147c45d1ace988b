"""Say whether one model is better than another, under three questions: what else could have come out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError, suggest_name
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import fixed, format_with_errors, intervals, numbers
from workflow_scripts.render.words import LEVEL
from workflow_scripts.settings.error_messages import shown
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import holm, separation, z_test
from workflow_scripts.studies.ranking.frame import OVERALL, OWN
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

QUESTIONS = {
    "items": "other items of these tasks",
    "trainings": "other items and both trained again",
    "tasks": "other tasks of the kind",
}
_NOTE = (
    "Difference: {first} minus {second}, the mean over the tasks that both have, in points of a hundred, with its"
    " standard error and 95% interval. Each row lets something else come out anew: the items of these tasks; the"
    " items and the training of both models; the tasks, of which these are taken for a sample (Student's t)."
    " First better: the probability that {first} is the"
    " better one, where no difference was likelier than another beforehand. Shows from: the"
    " smallest difference that a test at 5% shows with 80%. Verdict: which is better, where the interval does not hold"
    " zero. A single task tells two models apart where p, corrected by Holm's method over"
    f" the tasks, is below {LEVEL}; results/tables/separate.csv has each task."
)


def read_names(separate: str) -> tuple[str, str]:
    """Read the two models that the config names."""
    names = separate.replace(",", " ").split()
    if len(names) != 2 or names[0] == names[1]:
        raise UserError(
            f"separate is {shown(separate)}; expected two different models, as in"
            ' `snakemake separate --config separate="Qwen/Qwen2.5-7B meta-llama/Llama-3.1-8B"`.'
        )
    return names[0], names[1]


def compare_models(
    grids: Mapping[str, Mapping[str, Grid]],
    settings: Mapping[str, GridSettings],
    names: tuple[str, str],
) -> pd.DataFrame:
    """Compute a row for each protocol and question, over all tasks that both models have, and one for each task."""
    rows = [
        {"scores": source, "protocol": of_grid.names[protocol]} | row
        for name, of_protocols in grids.items()
        for of_grid in [settings[name].grid]
        for protocol, grid in of_protocols.items()
        if not of_grid.protocols[protocol].scores_of
        for source, pair in _find_pairs(grid, names)
        for row in compare_pair(pair, of_grid.protocols[protocol].after_training)
    ]
    if rows:
        return pd.DataFrame(rows)
    known = {name for of in grids.values() for grid in of.values() for name in _name_models(grid)}
    for name in names:
        if name not in known:
            raise UserError(
                f"separate names {shown(name)}, of which there are no scores; expected a model of this run,"
                f" once `snakemake harmony` has measured it, or of a grid in config/grids.{suggest_name(name, known)}"
            )
    raise UserError(
        f"{names[0]} and {names[1]} have no task in common in scores of one source; expected two"
        " models that were scored on the same tasks."
    )


def _name_models(grid: Grid) -> pd.Series:
    return grid.models["model"] + grid.models["variant"]


def _find_pairs(grid: Grid, names: tuple[str, str]) -> list[tuple[str, ScoreErrors]]:
    """Find the two models on the tasks that both have, from each source that has both, or from two if none has."""
    pairs = []
    labels = [grid.models.index[_name_models(grid) == name] for name in names]
    for pair in map(list, product(*labels)):
        origins = sorted(set(grid.models.loc[pair, "origin"]))
        scores = grid.values.loc[pair].dropna(axis=1)
        if not scores.empty:
            source = " and ".join(origins).replace(OWN, "own scores")
            pairs.append((len(origins), source, grid.errors.part(scores)))
    least = min((origins for origins, *_ in pairs), default=0)
    return [(source, errors) for origins, source, errors in pairs if origins == least]


def compare_pair(pair: ScoreErrors, trains: bool) -> Iterator[dict[str, Any]]:
    """Of two models, the first minus the second: over all tasks by question, then by task."""
    places = np.array([0]), np.array([1])
    apart = (pair.scores.iloc[0] - pair.scores.iloc[1]).to_numpy()
    tasks, mean = len(apart), float(apart.mean())
    of_all = float(pair.of_mean_differences(*places)[0])
    untrained = replace(pair, training=pair.training * 0)
    of_items = float(untrained.of_mean_differences(*places)[0])
    # Other tasks have other items: never less than these do by themselves, if by chance tasks spread so little.
    spread = float(apart.std(ddof=1)) / sqrt(tasks) if tasks > 1 else nan
    spread = max(spread, of_all) if tasks > 1 and of_all > 0 else spread
    errors = {"items": (of_items, np.inf), "tasks": (spread, tasks - 1)}
    if trains:
        errors["trainings"] = (of_all if of_all > of_items else nan, np.inf)
    for question in QUESTIONS:
        if question in errors:
            about = {"question": question, "task": OVERALL, "tasks": tasks}
            yield about | separation(mean, *errors[question])._asdict()
    of_tasks = pair.of_differences(*places)[0]
    z, p = z_test(apart, of_tasks)
    question = "trainings" if trains and of_all > of_items else "items"
    for at, (task, p_holm) in enumerate(zip(pair.scores, holm(p), strict=True)):
        about = {"question": question, "task": task, "tasks": 1, "z": z[at], "p_holm": p_holm}
        yield about | separation(apart[at], of_tasks[at])._asdict()


def format_columns(table: pd.DataFrame, names: tuple[str, str]) -> ShownColumns:
    table = table[table["task"] == OVERALL]
    points = 100 * table[["difference", "stderr", "low", "high", "shows_from"]]
    first, second = (f"{name} is better" for name in names)
    settled = table["low"].gt(0).map({True: first}).fillna(table["high"].lt(0).map({True: second}))
    return {
        "Scores": table["scores"],
        "Protocol": table["protocol"],
        "Come out anew": table["question"].map(QUESTIONS),
        "Tasks": numbers(table["tasks"], "d"),
        "Difference": format_with_errors(points["difference"], points["stderr"], _format_points),
        "95% interval": intervals(points["low"], points["high"], _format_points),
        "First better": numbers(table["probability"], ".2f"),
        "Shows from": numbers(points["shows_from"], ".2f"),
        "Verdict": settled.fillna(table["low"].notna().map({True: "not settled"})),
    }


def _format_points(value: float) -> str:
    return fixed(value, ".2f")


def main(
    grids: list[Path],
    table: list[Path],
    separate: str,
    settings: dict[str, dict[str, Any]],
    own: list[str],
) -> None:
    """Compare two models over grids, whose cells and models are files named after them.

    `own` are those of this run, which are read where they are there and never made for this.
    """
    names = read_names(separate)
    files = {path.stem: path for path in [*grids, *map(Path, own)]}
    known = {name: GridSettings.of(one) for name, one in settings.items() if name in files}
    found = {name: read_grids(files[name], files[f"{name}_models"]) for name in known}
    compared = compare_models(found, known, names)
    title = f"Is {names[0]} better than {names[1]}?"
    note = _NOTE.format(first=names[0], second=names[1])
    write_table(compared, table, title=title, note=note, shown=format_columns(compared, names))
    print(Path(table[1]).read_text(encoding="utf-8"))


if "snakemake" in globals():
    run_job(main, snakemake)
