"""Tabulate the score of each model on each task of the Harmony study, beside what it must beat."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import draw_legend_below, drawing, pick_model_colours, rule
from workflow_scripts.render.tables import write_table
from workflow_scripts.render.text import format_with_errors
from workflow_scripts.render.words import CLEAR
from workflow_scripts.scores.errors import get_metric_minimum
from workflow_scripts.scores.foreign.cells import KnownModel, add_imported_models
from workflow_scripts.scores.tidy import read_all_imported
from workflow_scripts.stats.shares import compute_baseline_z, compute_score_interval
from workflow_scripts.studies.ranking.frame import DIRECT, OWN, STUDY, format_rows
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.plots import IMPORTED, measure_ends

_NAMED = 16  # models with a colour and a name of their own in the figure; more go by their families
_NOTE = (
    "Score ± standard error on n items, lm-eval's own task and metric. Chance: answering at random."
    " Baseline: the better of chance and the best constant answer. Above baseline: by so many standard errors of a"
    f" model that is at the baseline; below {CLEAR} nothing is shown. Origin, where there are imported"
    " scores: own, or their file."
)
_KEY = ["origin", "model", "task"]
_SCORE = ["value", "stderr", "n", "chance", "baseline"]


def compute_scores(
    scores: pd.DataFrame, tasks: Sequence[RankedTask], models: Sequence[str], about: pd.DataFrame
) -> pd.DataFrame:
    """Tabulate a row per task and model of the config, in its order, primary metric only; imported scores follow ours.

    `about` has the family and the parameters of models by name; a checkpoint goes by those of its base.
    """
    rows = pd.DataFrame([task.model_dump() for task in tasks]).set_index("task")
    direct = scores[(scores["protocol"] == DIRECT) & scores["subset"].isna()]
    direct = direct[direct["metric"] == direct["task"].map(rows["metric"])]
    origin = direct["study"].where(direct["study"] != STUDY, OWN)
    names = direct["model"] + direct["variant"]
    direct = direct.assign(base=direct["model"], model=names, origin=origin)
    own = pd.MultiIndex.from_product([[OWN], models, rows.index], names=_KEY).to_frame(index=False)
    own["base"] = [CheckpointId.parse(name).model for name in own["model"]]
    own = own.merge(direct[[*_KEY, *_SCORE]], "left", _KEY)
    imported = direct.loc[origin != OWN, [*own]]
    table = pd.concat([own, imported], ignore_index=True)
    table = table.join(rows, on="task").join(about[["parameters", "family"]], on="base")
    table[_SCORE] = table[_SCORE].apply(pd.to_numeric)
    value, error, n, baseline = (table[name] for name in ("value", "stderr", "n", "baseline"))
    table["z"] = compute_baseline_z(value, error, baseline, n, get_metric_minimum(table["metric"]))
    table = table.sort_values("task", key=rows.index.get_indexer, kind="stable")
    columns = ["task", "category", "model", "origin", "family", "parameters", "metric"]
    table = table.assign(task=table["display_name"])
    return table[[*columns, *_SCORE, "z"]].reset_index(drop=True)


def plot_scores(table: pd.DataFrame, files: list[Path]) -> None:
    """Plot tasks down, score across: a dot with its 95% interval per model, a tick at the baseline.

    A line for each model, named below; of more models than can be told apart a line for each family.
    """
    tasks = pd.Index(table["task"].unique())
    value, error, n = (table[name] for name in ("value", "stderr", "n"))
    low, high = compute_score_interval(value, error, n, get_metric_minimum(table["metric"]))
    name = table["model"].where(table["origin"] == OWN, table["model"] + IMPORTED)
    if name.nunique() > _NAMED:
        name = table["family"].fillna("other")
    table = table.assign(name=name, low=low, high=high).sort_values("parameters", kind="stable")
    colours = pick_model_colours(list(table["name"].unique()))
    step = 0.7 / max(len(colours), 1)
    with drawing(files, 6.5, 1.0 + 0.4 * len(tasks) + 0.1 * len(colours)) as (fig, axes):
        for place, (name, colour) in enumerate(colours.items()):
            rows = table[(table["name"] == name) & table["value"].notna()]
            down = tasks.get_indexer(rows["task"]) + (place - (len(colours) - 1) / 2) * step
            ends = measure_ends(rows["value"], rows["low"], rows["high"])
            axes.errorbar(rows["value"], down, xerr=ends, fmt="o", color=colour, label=name)
        baselines = table.groupby("task")["baseline"].max().dropna()
        down = tasks.get_indexer(baselines.index)
        axes.vlines(baselines, down - 0.42, down + 0.42, color="0.45", label="baseline")
        axes.set_yticks(range(len(tasks)), tasks)
        axes.set_ylim(len(tasks) - 0.4, -0.6)  # downwards, as in the table
        axes.set_xlabel("score, with its 95% confidence interval")
        rule(axes, "x")
        draw_legend_below(fig, axes, 4)


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
    others = read_all_imported(imported, metrics, taken={STUDY})
    tidy = pd.concat([*map(pd.read_parquet, scores), *others], ignore_index=True)
    rows = add_imported_models([KnownModel(**model) for model in known_models], imports)
    about = pd.DataFrame(map(dict, rows)).set_index("model")
    direct = compute_scores(tidy, [RankedTask(**task) for task in tasks], models, about)
    shown = {
        "Task": "{task}",
        "Model": "{model}",
        "Origin": "{origin}",
        "Parameters": "{parameters:,.0f}",
        "Metric": "{metric}",
        "Score": format_with_errors(direct["value"], direct["stderr"]),
        "n": "{n:.0f}",
        "Chance": "{chance:.3f}",
        "Baseline": "{baseline:.3f}",
        "Above baseline (SE)": "{z:+.1f}",
    }
    shown = format_rows(direct, shown)
    direct_table = direct.drop(columns="family")
    write_table(direct_table, table, title="Zero-shot scores", note=_NOTE, shown=shown)
    plot_scores(direct, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
