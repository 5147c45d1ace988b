"""The score of each model on each task of the Harmony study, beside what it must beat."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import drawing, legend_below, pick_model_colours, rule
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import get_metric_minimum
from workflow_scripts.scores.foreign.cells import KnownModel, add_imported_models
from workflow_scripts.scores.tidy import read_all_imported
from workflow_scripts.stats.shares import errors_above, score_interval
from workflow_scripts.studies.ranking.frame import DIRECT, OWN, STUDY
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.plots import IMPORTED, measure_ends

_NAMED = 16  # models with a colour and a name of their own in the figure; more go by their families
_NOTE = (
    "Score ± standard error on n items, lm-eval's own task and metric. Chance: answering at random."
    " Baseline: the better of chance and the best constant answer. Above baseline: by so many standard errors of a"
    f" model that is at the baseline; below {CLEAR} nothing is shown. Origin, where there are imported"
    " scores: own, or their file."
)
_KEY = ["study", "model", "task"]
_FOUND = ["value", "stderr", "n", "chance", "floor"]


def tabulate_scores(
    scores: pd.DataFrame, tasks: Sequence[RankedTask], models: Sequence[str], known: pd.DataFrame
) -> pd.DataFrame:
    """Tabulate a row per task and model of the config, in its order, primary metric only; imported scores follow ours.

    `known` has the family and the parameters of models by name; a checkpoint goes by those of its base.
    """
    rows = pd.DataFrame([task.model_dump() for task in tasks]).set_index("task")
    direct = scores[(scores["protocol"] == DIRECT) & scores["subset"].isna()]
    direct = direct[direct["metric"] == direct["task"].map(rows["metric"])]
    direct = direct.assign(base=direct["model"], model=direct["model"] + direct["variant"])
    twice = direct[direct.duplicated(["study", "model", "task"])]
    for row in twice.itertuples():
        raise UserError(
            f"There are several scores of {row.model} on {row.task} in the study"
            f" {row.study}, direct; expected one. Delete results/scores/harmony.parquet."
        )
    own = pd.MultiIndex.from_product([[STUDY], models, rows.index], names=_KEY).to_frame(
        index=False
    )
    own["base"] = [CheckpointId.parse(name).model for name in own["model"]]
    ours = own.merge(direct[[*_KEY, *_FOUND]], "left", _KEY)
    table = pd.concat([ours, direct[direct["study"] != STUDY]], ignore_index=True)
    table = table.drop(columns=["metric"]).join(rows, on="task")
    table = table.join(known[["parameters", "family"]], on="base")
    table[_FOUND] = table[_FOUND].apply(pd.to_numeric)
    table["origin"] = table["study"].mask(table["study"] == STUDY, OWN)
    value, error, n, floor = (table[name] for name in ("value", "stderr", "n", "floor"))
    table["z"] = errors_above(value, error, floor, n, get_metric_minimum(table["metric"]))
    table = table.sort_values("task", key=lambda of: of.map(rows.index.get_loc), kind="stable")
    names = ["task", "category", "model", "origin", "family", "parameters", "metric"]
    table["task"] = table["display_name"]
    return table[[*names, *_FOUND, "z"]].reset_index(drop=True)


def format_columns(table: pd.DataFrame) -> ShownColumns:
    return {
        "Task": table["task"],
        "Model": table["model"],
        **({"Origin": table["origin"]} if (table["origin"] != OWN).any() else {}),
        "Parameters": numbers(table["parameters"], ",.0f"),
        "Metric": table["metric"],
        "Score": format_with_errors(table["value"], table["stderr"]),
        "n": numbers(table["n"], ".0f"),
        "Chance": numbers(table["chance"]),
        "Baseline": numbers(table["floor"]),
        "Above baseline (SE)": numbers(table["z"], "+.1f"),
    }


def plot_scores(table: pd.DataFrame, files: list[Path]) -> None:
    """Plot tasks down, score across: a dot with its 95% interval per model, a tick at the baseline.

    A line for each model, named below; of more models than can be told apart a line for each family.
    """
    tasks = pd.Index(table["task"].unique())
    value, error, n = (table[one] for one in ("value", "stderr", "n"))
    low, high = score_interval(value, error, n, get_metric_minimum(table["metric"]))
    named = table["model"].where(table["origin"] == OWN, table["model"] + IMPORTED)
    table = table.assign(name=named, low=low, high=high).sort_values("parameters", kind="stable")
    if named.nunique() > _NAMED:
        table["name"] = table["family"].fillna("other")
    names = list(dict.fromkeys(table["name"]))
    step = 0.7 / max(len(names), 1)
    with drawing(files, 6.5, 1.0 + 0.4 * len(tasks) + 0.1 * len(names)) as (fig, axes):
        for at, (name, colour) in enumerate(pick_model_colours(names).items()):
            rows = table[(table["name"] == name) & table["value"].notna()]
            down = tasks.get_indexer(rows["task"]) + (at - (len(names) - 1) / 2) * step
            ends = measure_ends(rows["value"], rows["low"], rows["high"])
            look = {"fmt": "o", "markersize": 4, "linewidth": 0.8, "color": colour, "label": name}
            axes.errorbar(rows["value"], down, xerr=ends, **look)
        floors = table.groupby("task")["floor"].max().dropna()
        down = tasks.get_indexer(floors.index)
        axes.vlines(floors, down - 0.42, down + 0.42, color="0.45", linewidth=1.4, label="baseline")
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_ylim(len(tasks) - 0.4, -0.6)  # downwards, as in the table
        axes.set_xlabel("score, with its 95% confidence interval")
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
    theirs = read_all_imported(imported, metrics, taken={STUDY})
    tidy = pd.concat([*map(pd.read_parquet, scores), *theirs], ignore_index=True)
    known = add_imported_models([KnownModel(**one) for one in known_models], imports)
    of_models = pd.DataFrame(map(dict, known)).set_index("model")
    found = tabulate_scores(tidy, [RankedTask(**one) for one in tasks], models, of_models)
    title = "Zero-shot scores"
    shown = format_columns(found)
    write_table(found.drop(columns="family"), table, title=title, note=_NOTE, shown=shown)
    plot_scores(found, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
