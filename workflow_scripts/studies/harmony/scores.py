"""The score of each model on each task of the Harmony study, beside what it must beat."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.render.figures import Figure, legend_below, model_colours
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, with_errors
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import lowest_of
from workflow_scripts.scores.foreign.cells import known_beside
from workflow_scripts.scores.tidy import import_all
from workflow_scripts.stats.shares import errors_above, score_interval
from workflow_scripts.studies.ranking.frame import DIRECT, OWN, STUDY
from workflow_scripts.studies.ranking.labels import (
    IMPORTED,
    drawing,
    drawn_from,
    families,
    reach,
    rule,
)
from workflow_scripts.studies.ranking.rank_lines import CROWD
from workflow_scripts.studies.ranking.requests import ModelsRequest, ScoresRequest

NAMED = 16  # models with a colour and a name of their own in the figure; more go by their families
WITH_ERRORS = 100  # models, beyond which standard errors would hide the scores
NOTE = (
    "Score ± standard error on n items, lm-eval's own task and metric. Chance: answering at random."
    " Floor: the better of chance and the best fixed answer. Above the floor by so many standard errors"
    f" of a model that is at the floor: below {CLEAR}, nothing was shown. Origin, where there are imported"
    " scores: own, or their file."
)
_FOUND = ("value", "stderr", "n", "chance", "floor")
COLUMNS = columns(
    ("text", "task category model origin"),
    ("whole", "parameters"),
    ("text", "metric"),
    ("number", "value stderr"),
    ("whole", "n"),
    ("number", "chance floor z"),
)


def harmony_scores(
    scores: pd.DataFrame,
    request: ScoresRequest,
    imported: Sequence[pd.DataFrame] = (),
    imports: Iterable[Path] = (),
) -> pd.DataFrame:
    """One row per task and model, in the order of the config, primary metric only.

    Imported scores follow ours, each under the name of its file, on the tasks of the config.
    """
    tidy = pd.concat([scores[scores["study"] == STUDY], *imported], ignore_index=True)
    sizes = {one.model: one.parameters for one in known_beside(request.models, imports)}
    named = tidy["model"] + tidy["variant"].fillna("")  # as the config names it
    tidy = tidy.assign(size=tidy["model"].map(sizes), model=named)
    chosen = (tidy["protocol"] == DIRECT) & tidy["subset"].isna()
    direct = tidy[chosen & (tidy["metric"] == tidy["task"].map(request.metrics))]
    theirs = tidy.loc[
        (tidy["protocol"] == DIRECT) & (tidy["study"] != STUDY), ["model", "study", "size"]
    ]
    models: list[tuple[Any, ...]] = [(STUDY, *sized) for sized in request.parameters.items()]
    models += [tuple(row) for row in theirs.drop_duplicates()[["study", "model", "size"]].values]
    keys, found = direct[["study", "model", "task"]], direct[list(_FOUND)]
    cells: dict[tuple, list[dict[Any, Any]]] = {}
    for key, one in zip(keys.itertuples(index=False), found.to_dict("records"), strict=True):
        cells.setdefault(tuple(key), []).append(one)
    rows = []
    for task in request.tasks:
        for study, model, parameters in models:
            match = cells.get((study, model, task.task), [])
            if len(match) > 1:
                raise UserError(
                    f"There are {len(match)} scores of {model} on {task.task} in the study"
                    f" {study}, direct; expected one. Delete results/scores/harmony.parquet."
                )
            if not match and study != STUDY:
                continue  # theirs is not ours to miss
            about: dict[str, Any] = {
                "task": task.display_name,
                "category": task.category,
                "model": model,
            }
            about |= {"origin": OWN if study == STUDY else study, "parameters": parameters}
            about |= {"metric": task.metric}
            rows.append(about | (match[0] if match else {}))
    table = pd.DataFrame(rows, columns=list(COLUMNS.named))
    table[list(_FOUND)] = table[list(_FOUND)].apply(pd.to_numeric)
    value, error, floor, n = (table[name] for name in ("value", "stderr", "floor", "n"))
    table["z"] = errors_above(value, error, floor, n, lowest_of(table["metric"]))
    return table


def _show(table: pd.DataFrame, _: ScoresRequest) -> ShownColumns:
    return {
        "Task": table["task"],
        "Model": table["model"],
        **({"Origin": table["origin"]} if (table["origin"] != OWN).any() else {}),
        "Parameters": numbers(table["parameters"], ",.0f"),
        "Metric": table["metric"],
        "Score": with_errors(table["value"], table["stderr"]),
        "n": numbers(table["n"], ".0f"),
        "Chance": numbers(table["chance"]),
        "Floor": numbers(table["floor"]),
        "Above floor (SE)": numbers(table["z"], "+.1f"),
    }


def _make(inputs: Inputs, request: ScoresRequest) -> pd.DataFrame:
    theirs = import_all(inputs["imported"], request.metrics, taken={STUDY})
    scores = pd.read_parquet(inputs.one("scores"))
    theirs = [scores[scores["study"] != STUDY], *theirs]
    return harmony_scores(scores, request, theirs, inputs.get("imports", ()))


TABLE = Table(
    name="harmony_scores",
    title="Direct evaluation of the Harmony grid",
    note=NOTE,
    columns=COLUMNS,
    asks=ScoresRequest,
    make=_make,
    show=_show,
)


def write_scores_figure(table: pd.DataFrame, request: ModelsRequest, pdf: Path, png: Path) -> None:
    """Tasks down, score across: a dot with its 95% interval per model, a tick at the floor.

    A line for each model, named below; of more models than can be told apart a line for each family.
    """
    tasks = list(dict.fromkeys(table["task"]))
    own = table["origin"] == OWN
    named = table["model"].where(own, table["model"] + IMPORTED)
    value, error, n = (table[one] for one in ("value", "stderr", "n"))
    low, high = score_interval(value, error, n, lowest_of(table["metric"]))
    table = table.assign(name=named, low=low, high=high).sort_values("parameters", kind="stable")
    models = list(dict.fromkeys(table["name"]))
    of_each: dict[str, Any] = {"markersize": 4.5, "linewidth": 1}
    colours: dict[str, Any] = model_colours(models)
    if many := len(models) > NAMED:
        family = {row.model: row.family for row in request.models}
        table = table.assign(name=table["model"].map(family).fillna("other"))
        looks = families(table.assign(family=table["name"]))
        colours = {name: looks[name][0] for name in sorted(set(table["name"]))}
        of_each = {"markersize": 3, "linewidth": 0.5, "alpha": 0.5}
    if len(models) > CROWD:
        of_each = {"markersize": 2, "alpha": 0.1, "rasterized": True}
    height = 1.0 + (0.45 if many else 0.3) * len(tasks) + 0.1 * len(colours)
    with drawing(pdf, png, 6.5, height) as (fig, axes):
        step = 0.7 / max(len(colours), 1)
        for at, name in enumerate(colours):
            rows = table[(table["name"] == name) & table["value"].notna()]
            y = [tasks.index(t) + (at - (len(colours) - 1) / 2) * step for t in rows["task"]]
            ends = reach(*(rows[one] for one in ("value", "low", "high")))
            axes.errorbar(rows["value"], y, xerr=None if len(models) > WITH_ERRORS else ends, fmt="o",
                          markeredgewidth=0, color=colours[name], **of_each)  # fmt: skip
            axes.plot([], [], "o", markersize=4.5, color=colours[name], label=name)
        for row, task in enumerate(tasks):
            floor = table.loc[table["task"] == task, "floor"].max()
            if pd.notna(floor):
                axes.plot([floor, floor], [row - 0.42, row + 0.42], color="0.45", linewidth=1.4,
                          label="floor" if row == 0 else None)  # fmt: skip
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_ylim(len(tasks) - 0.4, -0.6)  # downwards, as in the table
        axes.set_xlabel("score" + ("" if len(models) > WITH_ERRORS else ", with its 95% interval"))
        axes.set_xlim(
            left=min(0.0, table[["value", "low"]].min(axis=None)) - 0.02,
            right=max(1.0, table["value"].max()) + 0.02,
        )
        rule(axes, "x")
        ncols = 4 if many else 2
        legend_below(fig, axes, ncols)


FIGURE = Figure(
    name="harmony_scores",
    asks=ModelsRequest,
    draw=drawn_from(TABLE, write_scores_figure),
)
