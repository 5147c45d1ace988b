"""Tabulate and plot the prompt runs of each model: accuracy, format compliance, and the change from another run."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_records
from workflow_scripts.render.figures import (
    add_counts,
    draw_legend_below,
    open_figure,
    pick_model_colours,
)
from workflow_scripts.render.tables import write_table
from workflow_scripts.stats.proportions import compute_wilson_interval
from workflow_scripts.stats.significance import run_mcnemar_test
from workflow_scripts.studies.ranking.plots import draw_intervals

NOTE = (
    "MMLU under different prompts. Micro: accuracy over all n questions ± standard error; macro: mean over"
    " subjects. Baseline: the best score of a constant choice or of random guessing under the run's own scoring"
    " rule. Format met: fraction of outputs in exactly the format that the prompt requests. Strict: accuracy"
    " if only outputs in that format that equal the correct choice count. Difference: in percentage points"
    " from the named run, on the questions that both runs asked, with p of McNemar's exact test; scores of runs"
    " with different n are not otherwise comparable. Published: Llama-3.2-1B-Instruct on all of MMLU, its run 4"
    " on 285 questions; models and questions of the miniature world are not those."
)
# For each score column: the metric and the field of the tidy table.
_SCORES = {
    "n": ("acc", "n"),
    "micro": ("acc", "value"),
    "micro_stderr": ("acc", "stderr"),
    "macro": ("acc_macro", "value"),
    "macro_stderr": ("acc_macro", "stderr"),
    "baseline": ("acc", "baseline"),
    "format_met": ("format_met", "value"),
    "strict": ("acc_strict", "value"),
}
_KEYS = ["model", "variant", "run"]
_COLUMNS = [*_KEYS, "changed", *_SCORES, "after", "difference", "p", "published_micro"]
CorrectAnswers = dict[tuple[str, str], pd.Series]  # by checkpoint and run, one value a question


def read_correct_answers(records: Iterable[Path]) -> CorrectAnswers:
    """Read whether each question was answered correctly, by checkpoint and run, without failed cells."""
    correct = {}
    for path, record in read_records(records):
        items = read_items(path).select(["item", "correct"])
        answers = items.to_pandas().set_index("item")["correct"]
        correct[record.model.id, record.task.name] = answers.astype(bool)
    return correct


def compute_runs(
    scores: pd.DataFrame,
    correct: CorrectAnswers,
    published: pd.DataFrame,
    checkpoints: Mapping[str, bool],
    runs: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    """Compute one row per checkpoint and run; a failed run has a row without numbers.

    `checkpoints` maps each checkpoint to whether published scores of the same model exist. Each entry of `runs` has the
    run's name, what it `changed` from the run that it comes `after`, with which it is compared, and its name among the
    `published` runs.
    """
    percents = published[published["metric"] == "micro"].set_index("run")["percent"]
    rows = []
    for (name, is_published), run in product(checkpoints.items(), runs):
        id = CheckpointId.parse(name)
        row = {"model": id.model, "variant": id.variant, "run": run["name"]}
        row |= {"changed": run["changed"], "published": run["published"] if is_published else None}
        before = correct.get((name, run["after"]))
        answers = correct.get((name, run["name"]))
        if before is not None and answers is not None:
            row |= {"after": run["after"]} | _compare_answers(before, answers)
        rows.append(row)
    table = pd.DataFrame(rows)
    table["published_micro"] = table["published"].map(percents).astype("float64") / 100
    table = table.reindex(columns=_COLUMNS).set_index(_KEYS)
    scores = scores[scores["subset"].isna()].rename(columns={"task": "run"}).set_index(_KEYS)
    for column, (metric, field) in _SCORES.items():
        table[column] = scores.loc[scores["metric"] == metric, field].astype("float64")
    table["strict"] = table["strict"].where(table["format_met"].notna())
    return table.astype({"n": "Int64"}).reset_index()


def _compare_answers(before: pd.Series, answers: pd.Series) -> dict[str, float]:
    """Compare a run with the one before it on their common questions: the difference of accuracy, and p."""
    before, answers = before.align(answers, join="inner")
    test = run_mcnemar_test(before.to_numpy(dtype=bool), answers.to_numpy(dtype=bool))
    difference = (test.c - test.b) / len(answers) if len(answers) else np.nan
    return {"difference": difference, "p": test.p}


_SHOWN = {
    "Run": "{run}",
    "Model": "{model}{variant}",
    "What changed": "{changed}",
    "n": "{n}",
    "Micro": "{micro:.3f} ± {micro_stderr:.3f}",
    "Macro": "{macro:.3f} ± {macro_stderr:.3f}",
    "Baseline": "{baseline:.3f}",
    "Format met": "{format_met:.3f}",
    "Strict": "{strict:.3f}",
    "Difference": "{difference:+.1%} to {after}",
    "p": "{p:p_value}",
    "Published micro": "{published_micro:.3f}",
}


def plot_runs(table: pd.DataFrame, files: list[Path]) -> None:
    """Plot accuracy with its 95% interval, the baseline and the published accuracy of each run."""
    table = table[table["n"].notna()].astype({"n": "float64"})
    low, high = compute_wilson_interval(table["micro"], table["n"])
    changes = (table["run"] + ": " + table["changed"]).str.wrap(34)
    table = table.assign(
        name=table["model"] + table["variant"],
        label=add_counts(changes, table["n"]),
        value=table["micro"],
        low=low,
        high=high,
    )
    labels = pd.Index(table["label"].unique())
    colours = pick_model_colours(table["name"])
    with open_figure(files, 7.6, 1.6 + 0.36 * max(len(labels), 4)) as (fig, axes):
        draw_intervals(axes, table, colours, labels)
        y = labels.get_indexer(table["label"])
        axes.plot(table["baseline"], y, "|", color="0.45", label="baseline")
        axes.plot(table["published_micro"], y, "kD", fillstyle="none", label="published")
        axes.set_xlabel("accuracy, with its 95% confidence interval")
        axes.tick_params("y", labelsize=7.5)
        draw_legend_below(fig, axes, 2)


def main(
    scores: Path,
    records: list[Path],
    published: Path,
    table: list[Path],
    figure: list[Path],
    checkpoints: Mapping[str, bool],
    runs: Sequence[Mapping[str, Any]],
) -> None:
    # Run names are strings, even if they look like numbers.
    percents = pd.read_csv(published, dtype="string")
    correct = read_correct_answers(records)
    results = compute_runs(pd.read_parquet(scores), correct, percents, checkpoints, runs)
    write_table(results, table, title="Prompt runs", note=NOTE, shown=_SHOWN)
    plot_runs(results, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
