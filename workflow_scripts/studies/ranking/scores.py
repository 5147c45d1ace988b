"""Tabulate the score of each model on each task of the Harmony study, with chance level and baseline."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_records
from workflow_scripts.render.figures import (
    add_counts,
    draw_legend_below,
    open_figure,
    pick_model_colours,
)
from workflow_scripts.render.tables import write_table
from workflow_scripts.render.thresholds import MIN_CLEAR_Z
from workflow_scripts.scores.metric_ranges import get_metric_minimum
from workflow_scripts.stats.proportions import compute_baseline_z, compute_score_interval
from workflow_scripts.studies.ranking.build_grid import read_scores, select_reported
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import DIRECT, OWN, TRAINED
from workflow_scripts.studies.ranking.plots import IMPORTED_MARK, draw_intervals

_MAX_COLOURED_MODELS = 16  # with more models, colours show families
_NOTE = (
    "Score ± the harness's standard error on n items, and where that is 0 one from Wilson's interval; lm-eval's own"
    " task and metric. Chance: answering at random."
    " Baseline: the better of chance and the best constant answer. Above baseline: by so many standard errors of a"
    f" model that is at the baseline; below {MIN_CLEAR_Z} it is not clearly above. Origin, where there are imported"
    " scores: own, or their file. Fine-tuned: the score after training on the task. Steps: of the whole training; an"
    " earlier state may be the one that is tested. Answers"
    " changed: by this training, of all items."
)
_KEY = ["origin", "model", "task"]
_SCORE_COLUMNS = ["value", "stderr", "n", "chance", "baseline"]
_TRAINED_COLUMNS = ["trained_value", "trained_stderr", "steps", "changed"]


def compare_answers(paths: Sequence[Path]) -> pd.DataFrame:
    """Compute the optimiser steps of each training, and the fraction of zero-shot answers that it changed.

    `paths` are the records of a run. There is a row for each model and task, with the mean over seeds.
    """
    rows = []
    records = read_records(paths)
    zero_shot = {
        (record.model.id, record.task.name): path
        for path, record in records
        if record.protocol.name == DIRECT
    }
    for path, record in records:
        training = record.training
        if training:
            key = (record.model.id, record.task.name)
            changed = None
            if key in zero_shot:
                changed = _read_predictions(zero_shot[key]).ne(_read_predictions(path)).mean()
            steps = max(state["step"] for state in [training.selected, *training.evaluations])
            rows.append((OWN, *key, steps, changed))
    columns = [*_KEY, "steps", "changed"]
    return pd.DataFrame(rows, columns=columns).groupby(_KEY, as_index=False).mean()


def _read_predictions(record: Path) -> pd.Series:
    return read_items(record).column("prediction").to_pandas()


def compute_scores(
    scores: pd.DataFrame,
    settings: GridSettings,
    tasks: Sequence[str],
    models: Sequence[str],
    known_models: pd.DataFrame,
    trainings: pd.DataFrame,
) -> pd.DataFrame:
    """Tabulate one row per task and model in the config's order, reported metric only; imported scores follow ours.

    `known_models` has the family and parameters of models by name; a checkpoint has those of its base. `trainings` is
    the result of `compare_answers`.
    """
    scores = scores[scores["subset"].isna() & scores["task"].isin(tasks)]
    scores = select_reported(scores, settings)
    scores = scores.assign(model=scores["model"] + scores["variant"])
    direct = scores.loc[scores["protocol"] == DIRECT, [*_KEY, *_SCORE_COLUMNS]]
    trained = scores[scores["protocol"] == TRAINED].groupby(_KEY, as_index=False, observed=True)
    trained = trained[["value", "stderr"]].mean().set_axis([*_KEY, *_TRAINED_COLUMNS[:2]], axis=1)
    own = pd.MultiIndex.from_product([[OWN], models, tasks], names=_KEY).to_frame(index=False)
    imported = direct[direct["origin"] != OWN]
    table = pd.concat([own.merge(direct, "left", _KEY), imported], ignore_index=True)
    table = table.merge(trained, "left", _KEY).merge(trainings, "left", _KEY)
    base = table["model"].str.split("@").str[0]
    attributes = known_models[["parameters", "family"]].reindex(base).set_axis(table.index)
    table = table.join(attributes).assign(
        category=table["task"].map(settings.task_categories),
        metric=table["task"].map(settings.metrics),
    )
    numbers = [*_SCORE_COLUMNS, *_TRAINED_COLUMNS]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    table["z"] = compute_baseline_z(
        table["value"],
        table["stderr"],
        table["baseline"],
        table["n"],
        get_metric_minimum(table["metric"]),
    )
    table = table.sort_values("task", key=pd.Index(tasks).get_indexer, kind="stable")
    table = table.assign(task=table["task"].map(settings.task_names))
    columns = ["task", "category", "model", "origin", "family", "parameters", "metric"]
    columns += [*_SCORE_COLUMNS, "z", *_TRAINED_COLUMNS]
    return table[columns].reset_index(drop=True)


def plot_scores(table: pd.DataFrame, files: list[Path]) -> None:
    """Plot scores (x axis) by task (y axis): a dot with its 95% interval per model, and a tick at the baseline.

    The legend has an entry per model, or per family if there are too many models.
    """
    tasks = pd.Index(table["task"].unique())
    lowest = get_metric_minimum(table["metric"])
    low, high = compute_score_interval(table["value"], table["stderr"], table["n"], lowest)
    name = table["model"].where(table["origin"] == OWN, table["model"] + IMPORTED_MARK)
    if name.nunique() > _MAX_COLOURED_MODELS:
        name = table["family"].fillna("other")
    table = table.assign(name=name, label=table["task"], low=low, high=high)
    table = table.sort_values("parameters", kind="stable")
    colours = pick_model_colours(table["name"])
    with open_figure(files, 6.5, 1.0 + 0.4 * len(tasks) + 0.1 * len(colours)) as (fig, axes):
        draw_intervals(axes, table, colours, tasks)
        baselines = table.groupby("task")["baseline"].max().dropna()
        rows = tasks.get_indexer(baselines.index)
        axes.vlines(baselines, rows - 0.42, rows + 0.42, color="0.45", label="baseline")
        counts = table.groupby("task")["n"].max().reindex(tasks)
        axes.set_yticks(range(len(tasks)), add_counts(tasks, counts))
        axes.set_xlabel("score, with its 95% confidence interval")
        draw_legend_below(fig, axes, 4)


@validate_call
def main(  # noqa: PLR0913  (files and config values of a job, by name)
    scores: list[Path],
    table: list[Path],
    figure: list[Path],
    settings: GridSettings,
    tasks: list[str],
    models: list[str],
    known_models: list[dict[str, Any]],
    records: Sequence[Path] = (),
    imported: Sequence[Path] = (),
) -> None:
    """Tabulate and plot the scores of `models` on `tasks`, and the imported ones."""
    results = compute_scores(
        read_scores(scores, imported, settings),
        settings,
        tasks,
        models,
        pd.DataFrame(known_models).set_index("model"),
        compare_answers(records),
    )
    shown = {
        "Task": "{task}",
        "Model": "{model}",
        "Origin": "{origin}",
        "Parameters": "{parameters:,.0f}",
        "Metric": "{metric}",
        "Score": "{value:.3f} ± {stderr:.3f}",
        "n": "{n:.0f}",
        "Chance": "{chance:.3f}",
        "Baseline": "{baseline:.3f}",
        "Above baseline (SE)": "{z:+.1f}",
        "Fine-tuned": "{trained_value:.3f} ± {trained_stderr:.3f}",
        "Steps": "{steps:.0f}",
        "Answers changed (%)": "{changed:.0%}",
    }
    title = "Zero-shot and fine-tuned scores"
    write_table(results.drop(columns="family"), table, title=title, note=_NOTE, shown=shown)
    plot_scores(results, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
