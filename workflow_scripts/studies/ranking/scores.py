"""The score of each model on each task of the Harmony study, beside what it must beat."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import drawing, legend_below, model_colours, rule
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers, with_errors
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import lowest_of
from workflow_scripts.scores.foreign.cells import KnownModel, known_beside
from workflow_scripts.scores.tidy import import_all
from workflow_scripts.stats.shares import errors_above, score_interval
from workflow_scripts.studies.ranking.frame import DIRECT, OWN, STUDY
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.plots import IMPORTED, color_families, measure_ends

_NAMED = 16  # models with a colour and a name of their own in the figure; more go by their families
_WITH_ERRORS = 100  # models, beyond which standard errors would hide the scores
_NOTE = (
    "Score ± standard error on n items, lm-eval's own task and metric. Chance: answering at random."
    " Floor: the better of chance and the best fixed answer. Above the floor by so many standard errors"
    f" of a model that is at the floor: below {CLEAR}, nothing was shown. Origin, where there are imported"
    " scores: own, or their file."
)
_FOUND = ["value", "stderr", "n", "chance", "floor"]


def tabulate_scores(
    scores: pd.DataFrame, tasks: Sequence[RankedTask], models: Sequence[str], known: pd.DataFrame
) -> pd.DataFrame:
    """One row per task and model of the config, in its order, primary metric only; imported scores follow ours.

    `known` has the family and the parameters of models by name; a checkpoint goes by those of its base.
    """
    metrics = {task.task: task.metric for task in tasks}
    direct = scores[(scores["protocol"] == DIRECT) & scores["subset"].isna()]
    found = direct[direct["metric"] == direct["task"].map(metrics)]
    found = found.assign(base=found["model"], model=found["model"] + found["variant"].fillna(""))
    twice = found[found.duplicated(["study", "model", "task"])]
    if len(twice):
        row = twice.iloc[0]
        raise UserError(
            f"There are several scores of {row['model']} on {row['task']} in the study"
            f" {row['study']}, direct; expected one. Delete results/scores/harmony.parquet."
        )
    own = pd.DataFrame(
        {"model": models, "base": [CheckpointId.parse(name).model for name in models]}, dtype="str"
    )
    theirs = found[found["study"] != STUDY]
    tables = []
    for task in tasks:
        of_task = found[found["task"] == task.task]
        ours = own.merge(of_task[of_task["study"] == STUDY][["model", *_FOUND]], "left", "model")
        of_others = theirs[theirs["task"] == task.task]
        table = pd.concat([ours.assign(study=STUDY), of_others], ignore_index=True)
        about = {"task": task.display_name, "category": task.category, "metric": task.metric}
        tables.append(table.assign(**about))
    table = pd.concat(tables, ignore_index=True)
    table[_FOUND] = table[_FOUND].apply(pd.to_numeric)
    table["origin"] = table["study"].mask(table["study"] == STUDY, OWN)
    table = table.join(known[["parameters", "family"]], on="base")
    value, error, n, floor = (table[name] for name in ("value", "stderr", "n", "floor"))
    table["z"] = errors_above(value, error, floor, n, lowest_of(table["metric"]))
    names = ["task", "category", "model", "origin", "family", "parameters", "metric"]
    return table[[*names, *_FOUND, "z"]]


def format_columns(table: pd.DataFrame) -> ShownColumns:
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


def plot_scores(table: pd.DataFrame, files: list[Path]) -> None:
    """Tasks down, score across: a dot with its 95% interval per model, a tick at the floor.

    A line for each model, named below; of more models than can be told apart a line for each family.
    """
    tasks = list(dict.fromkeys(table["task"]))
    named = table["model"].where(table["origin"] == OWN, table["model"] + IMPORTED)
    value, error, n = (table[one] for one in ("value", "stderr", "n"))
    low, high = score_interval(value, error, n, lowest_of(table["metric"]))
    table = table.assign(name=named, low=low, high=high).sort_values("parameters", kind="stable")
    models = list(dict.fromkeys(table["name"]))
    look: dict[str, Any] = {"markersize": 4.5, "linewidth": 1}
    colours: dict[str, Any] = model_colours(models)
    if len(models) > _NAMED:
        table["name"] = table["family"].fillna("other")
        looks = color_families(table)
        colours = {name: looks[name][0] for name in sorted(set(table["name"]))}
        look = {"markersize": 3, "linewidth": 0.5, "alpha": 0.5}
    height = 1.0 + 0.4 * len(tasks) + 0.1 * len(colours)
    with drawing(files, 6.5, height) as (fig, axes):
        step = 0.7 / max(len(colours), 1)
        for at, name in enumerate(colours):
            rows = table[(table["name"] == name) & table["value"].notna()]
            y = [tasks.index(t) + (at - (len(colours) - 1) / 2) * step for t in rows["task"]]
            ends = measure_ends(rows["value"], rows["low"], rows["high"])
            bars = None if len(models) > _WITH_ERRORS else ends
            axes.errorbar(rows["value"], y, xerr=bars, fmt="o", color=colours[name], **look)
            axes.plot([], [], "o", markersize=4.5, color=colours[name], label=name)
        floors = table.groupby("task")["floor"].max().reindex(tasks)
        rows = [row for row, floor in enumerate(floors) if pd.notna(floor)]
        bottom, top = [row - 0.42 for row in rows], [row + 0.42 for row in rows]
        axes.vlines(floors.dropna(), bottom, top, color="0.45", linewidth=1.4, label="floor")
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_ylim(len(tasks) - 0.4, -0.6)  # downwards, as in the table
        axes.set_xlabel("score" + ("" if len(models) > _WITH_ERRORS else ", with its 95% interval"))
        axes.set_xlim(
            left=min(0.0, table[["value", "low"]].min(axis=None)) - 0.02,
            right=max(1.0, table["value"].max()) + 0.02,
        )
        rule(axes, "x")
        legend_below(fig, axes, 4)


def main(  # noqa: PLR0913  (files and config values of a job, by name)
    scores: list[Path],
    table: list[Path],
    figure: list[Path],
    tasks: list[dict[str, Any]],
    models: list[str],
    known_models: list[dict[str, Any]],
    metrics: Mapping[str, str],
    imported: Sequence[Path] = (),
    imports: Sequence[Path] = (),
) -> None:
    """Tabulate the scores of `models` on `tasks`; `metrics` of all known tasks are checked in imported files."""
    theirs = import_all(imported, metrics, taken={STUDY})
    tidy = pd.concat([*map(pd.read_parquet, scores), *theirs], ignore_index=True)
    known = known_beside([KnownModel(**one) for one in known_models], imports)
    of_models = pd.DataFrame(map(dict, known)).set_index("model")
    found = tabulate_scores(tidy, [RankedTask(**one) for one in tasks], models, of_models)
    title = "Direct evaluation of the Harmony grid"
    shown = format_columns(found)
    write_table(found.drop(columns="family"), table, title=title, note=_NOTE, shown=shown)
    plot_scores(found, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
