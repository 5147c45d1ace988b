"""Test whether one of two models is better, on grids or on two result folders of lm-eval or lighteval."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.files import hash_json, write_text
from workflow_scripts.core.ids import build_checkpoint_name
from workflow_scripts.render.tables import write_table
from workflow_scripts.render.text import format_fixed
from workflow_scripts.render.thresholds import ALPHA, MIN_CLEAR_Z
from workflow_scripts.scores.foreign.cells import TaskFields, TaskNames
from workflow_scripts.scores.foreign.result_folders import read_folder
from workflow_scripts.scores.tidy import describe_score
from workflow_scripts.stats.proportions import compute_baseline_z
from workflow_scripts.stats.significance import correct_by_holm, estimate_difference, run_z_test
from workflow_scripts.studies.ranking.grid import Grid, Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import OVERALL, OWN

QUESTIONS = {
    "items": "other test items",
    "trainings": "other test items and both fine-tuned again",
    "tasks": "other tasks of the kind",
}
# Why the error of a question may be unknown.
_UNKNOWN = {
    "items": "a score has no standard error",
    "trainings": "neither seeds nor releases show how far a second training would move the scores",
    "tasks": "there is a single task",
}
_NOTE = (
    "{} minus {}, in percentage points. Uncertainty: what might have been otherwise; other tasks by Student's t."
    " Verdict: which is better, where the 95% confidence interval excludes zero, for a single task where p is below"
    f" {ALPHA} after Holm's correction over the tasks. Detectable: the smallest difference that a test at 5%"
    " shows with a power of 80%."
)
_SETTINGS = ("harness", "dtype", "shots", "n", "prompts")


def compare_scores(
    pair: pd.DataFrame, *, after_training: bool, **leading: Any
) -> Iterator[dict[str, Any]]:
    """Compare two models: yield one row over all tasks per source of error, then one row per task.

    `pair` has by task the difference, first minus second, its standard errors from `items` and `trainings`, and
    whether both models are `at_baseline`. `after_training` says whether the models were trained before the test.
    Each row begins with `leading`.
    """
    difference = pair["difference"]
    count = len(pair)
    stderr = np.hypot(pair["items"], pair["trainings"])
    item_stderr, total_stderr = (
        np.sqrt(np.sum(errors.to_numpy() ** 2)) / count for errors in (pair["items"], stderr)
    )
    knows_noise = after_training and total_stderr > item_stderr
    # The standard error of the mean difference and its degrees of freedom.
    by_question = {"items": (item_stderr, inf)}
    if after_training:
        by_question["trainings"] = (total_stderr if knows_noise else np.nan, inf)
    # The error over tasks includes items, so it is at least the error from items and training.
    by_question["tasks"] = (np.fmax(difference.std() / count**0.5, total_stderr), count - 1)
    for question, (mean_stderr, df) in by_question.items():
        row = {"question": question, "task": OVERALL, "tasks": count}
        row["at_baseline"] = bool(pair["at_baseline"].all())
        yield leading | row | estimate_difference(float(difference.mean()), mean_stderr, df)
    z, p = run_z_test(difference, stderr)
    tests = pd.DataFrame({"z": z, "p_holm": correct_by_holm(p), "at_baseline": pair["at_baseline"]})
    for task, test in tests.to_dict("index").items():
        row = {"question": "trainings" if knows_noise else "items", "task": task, "tasks": 1}
        yield leading | row | test | estimate_difference(difference[task], stderr[task])


def compare_grids(
    grids: Mapping[str, Grids],
    settings: Mapping[str, GridSettings],
    names: Sequence[str],
) -> pd.DataFrame:
    """Compare two models under each protocol of each grid that contains both."""
    rows: list[dict[str, Any]] = []
    known_models: set[str] = set()
    for grid_name, by_protocol in grids.items():
        for key, grid in by_protocol.items():
            protocol = settings[grid_name].protocols[key]
            models = grid.models["model"] + grid.models["variant"]
            known_models |= set(models)
            labels = product(*(models.index[models == name] for name in names))
            pairs = [grid.scores.loc[[*pair]].dropna(axis=1) for pair in labels]
            pairs = [pair for pair in pairs if not pair.empty and not protocol.scores_of]
            if pairs:
                # Prefer scores of both models from one source.
                pair = min(pairs, key=lambda pair: len(_list_origins(grid, pair)))
                rows += compare_scores(
                    _subtract_scores(grid, pair),
                    after_training=protocol.after_training,
                    scores=" and ".join(_list_origins(grid, pair)).replace(OWN, "own scores"),
                    protocol=protocol.name,
                )
    if not rows:
        hints = [
            format_suggestion(name, known_models) for name in names if name not in known_models
        ]
        raise UserError(
            f"{names[0]} and {names[1]} have no scores on a common task; expected two models of this run, once"
            " `snakemake harmony` has measured them, of a grid in config/grids, or two folders with results of"
            f" lm-eval or lighteval.{''.join(hints)}"
        )
    return pd.DataFrame(rows)


def _list_origins(grid: Grid, pair: pd.DataFrame) -> list[str]:
    return sorted(set(grid.models.loc[pair.index, "origin"]))


def _subtract_scores(grid: Grid, pair: pd.DataFrame) -> pd.DataFrame:
    """Subtract the second model's scores from the first's, with errors from items and from training."""
    errors = grid.errors.select(pair)
    untrained = replace(errors, training_sd=errors.training_sd * 0)
    values = {
        "difference": pair.iloc[0] - pair.iloc[1],
        "items": untrained.compute_difference_stderrs(np.array([0]), np.array([1]))[0],
        "trainings": np.hypot(*errors.training_sd.to_numpy(float)),
        "at_baseline": _are_at_baseline(pair.to_numpy(float), grid.baselines.reindex(pair.columns)),
    }
    return pd.DataFrame(values, pair.columns)


def _are_at_baseline(scores: np.ndarray, tasks: pd.DataFrame) -> np.ndarray:
    """Return for each task (column) whether no score clearly exceeds the baseline; false if the baseline is unknown.

    `tasks` has the `baseline` and the number of items `n` of each task.
    """
    z = [compute_baseline_z(row, np.nan, tasks["baseline"], tasks["n"]) for row in scores]
    return np.array(z).max(axis=0) < MIN_CLEAR_Z


def compare_folders(
    folders: Sequence[str], names: TaskNames, tasks: TaskFields
) -> tuple[pd.DataFrame, list[str]]:
    """Compare the models of two result folders by one metric per task, and describe differing settings.

    `names` maps each harness's task names to ours; `tasks` has the metric that tables report for each task.
    """
    first, second = (_read_results(folder, names, tasks) for folder in folders)
    both = first.merge(second, on=["task", "metric"], suffixes=("", "_other"))
    if both.empty:
        scores = [
            ", ".join(sorted(set(table["task"] + " " + table["metric"])))
            for table in (first, second)
        ]
        raise UserError(
            f"{folders[0]} has {scores[0]}, and {folders[1]} has {scores[1]}; expected a task and a metric in common."
        )
    reported = both["task"].map({name: task["metric"] for name, task in tasks.items()})
    # If a task has several pairs, prefer equal shots, then the metric that tables report.
    order = both["shots"].ne(both["shots_other"]) * 2 + both["metric"].ne(reported)
    both = both.loc[order.groupby(both["task"]).idxmin().sort_values()]
    pair = pd.DataFrame([_compare_items(row) for row in both.to_dict("records")])
    at_baseline = _are_at_baseline(both[["value", "value_other"]].to_numpy(float).T, both)
    pair = pair.assign(trainings=0.0, at_baseline=at_baseline)
    pair = pair.set_index(both["task"] + " " + both["metric"])
    notes = []
    for name in _SETTINGS:
        differing = both[both[name] != both[f"{name}_other"]]
        if len(differing):
            values = " and ".join(map(str, differing[[name, f"{name}_other"]].iloc[0]))
            notes.append(f"Different {name} on {', '.join(differing['task'])}: {values}.")
    if both[["prompts", "prompts_other"]].eq("unknown").any(axis=None):
        notes.append(
            "Caution: without hashes of prompts nothing shows that both were asked the same."
        )
    rows = compare_scores(
        pair, after_training=False, scores="result folders", protocol="as evaluated"
    )
    return pd.DataFrame(rows), notes


def _read_results(folder: str, names: TaskNames, tasks: TaskFields) -> pd.DataFrame:
    """Read one row per score of a folder, with the item scores by cluster and item."""
    rows: list[dict[str, Any]] = []
    for cell, items in read_folder(Path(folder), names, tasks):
        hashes = [item.prompt_sha256 for item in items]
        fields = {
            "task": cell.task,
            "model": cell.model + cell.variant,
            "shots": cell.shots,
            "harness": f"{cell.harness} {cell.harness_version}",
            "dtype": cell.dtype or "unknown",
            "prompts": hash_json(hashes)[:8] if hashes and all(hashes) else "unknown",
        }
        for score in cell.scores:
            if score.subset is None:
                values = {
                    (item.cluster or item.item, item.item): item.scores.get(score.name)
                    for item in items
                }
                item_scores = pd.Series(values, dtype=float)
                rows.append(fields | describe_score(score) | {"items": item_scores})
    models = sorted({row["model"] for row in rows})
    if len(models) > 1:
        raise UserError(f"{folder} has results of {', '.join(models)}; expected one model.")
    return pd.DataFrame(rows)


def _compare_items(row: dict[str, Any]) -> dict[str, float]:
    """Compare two scores item by item if both have items from the same harness, else as independent samples."""
    difference = (row["items"] - row["items_other"]).dropna()
    if row["harness"].split()[0] != row["harness_other"].split()[0] or len(difference) < 2:
        stderr = np.hypot(*np.array([row["stderr"], row["stderr_other"]], float))
        return {"difference": row["value"] - row["value_other"], "items": stderr}
    sums = (difference - difference.mean()).groupby(level=0).sum()
    # The error is at least one answer, even if all answers agree.
    stderr = max(float(np.sqrt((sums**2).sum())), 1.0) / len(difference)
    return {"difference": float(difference.mean()), "items": stderr}


def describe_verdict(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Describe the difference, the better model if there is one, and whether both are at the baseline."""
    if np.isnan(row["low"]):
        return f"unknown: {_UNKNOWN[row['question']]}"
    difference, low, high, detectable = (
        format_fixed(100 * row[key], ".2f") for key in ("difference", "low", "high", "detectable")
    )
    verdict = "not settled"
    if not row["p_holm"] >= ALPHA and row["low"] * row["high"] > 0:
        verdict = f"{names[0] if row['low'] > 0 else names[1]} is better"
    baseline = "; both at the baseline" if row["at_baseline"] else ""
    return f"{verdict}: {difference} points (95% CI {low} to {high}), detectable from {detectable}{baseline}"


@validate_call
def main(
    grids: list[Path],
    table: list[Path],
    answer: Path,
    names: list[str],
    folders: Mapping[str, str],
    settings: dict[str, GridSettings],
    own: list[Path],
    harness_tasks: dict[str, Any],
) -> None:
    """Compare two result `folders`, or two models of grids, and write the table and the `answer` in short.

    `names` are the models or folders, `own` is this run's grid if it exists; this job does not build it.
    `harness_tasks` has the arguments `names` and `tasks` of `compare_folders`.
    """
    if len(set(names)) != 2:
        raise UserError(
            f"compare names {', '.join(names) or 'nothing'}; expected two different models or folders, as in"
            ' `snakemake compare --config compare="Qwen/Qwen2.5-7B meta-llama/Llama-3.1-8B"`.'
        )
    notes: list[str] = []
    if folders:
        results, notes = compare_folders(names, **harness_tasks)
    else:
        names = list(map(build_checkpoint_name, names))
        by_name = {path.stem: read_grids(path) for path in [*grids, *own]}
        results = compare_grids(by_name, settings, names)
    shown = pd.DataFrame(
        {
            "Scores": results["scores"],
            "Protocol": results["protocol"],
            "Task": results["task"],
            "Uncertainty": results["question"].map(QUESTIONS),
            "Verdict": results.apply(describe_verdict, axis=1, names=names),
        }
    )
    title = f"Is {names[0]} better than {names[1]}?"
    note = " ".join([_NOTE.format(*names), *notes])
    write_table(results, table, title=title, note=note, shown=shown)
    means = shown[results["task"] == OVERALL].drop(columns="Task")
    lines = [title, *(", ".join(row[:-1]) + f": {row[-1]}" for row in means.to_numpy())]
    write_text(answer, "\n  ".join([*lines, *notes, str(table[1])]) + "\n")


if "snakemake" in globals():
    run_job(main, snakemake)
