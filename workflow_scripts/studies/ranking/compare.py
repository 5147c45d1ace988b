"""Compare two models, by the scores of grids or by two folders that lm-eval or lighteval wrote: is one better?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.files import hash_json, write_text
from workflow_scripts.core.ids import build_checkpoint_name
from workflow_scripts.render.figures import PALETTE, draw_legend_below, drawing, rule
from workflow_scripts.render.tables import write_table
from workflow_scripts.render.text import fixed
from workflow_scripts.render.words import CLEAR, LEVEL
from workflow_scripts.scores.foreign.imports import read_folder
from workflow_scripts.scores.tidy import describe_score
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.shares import compute_baseline_z
from workflow_scripts.stats.significance import estimate_difference, holm, run_z_test
from workflow_scripts.studies.ranking.frame import OVERALL, OWN
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.plots import measure_ends

QUESTIONS = {
    "items": "other test items",
    "trainings": "other test items and both fine-tuned again",
    "tasks": "other tasks of the kind",
}
_NOTE = (
    "{} minus {}, in percentage points. Uncertainty: what might have been otherwise; other tasks by Student's t."
    " Verdict: which is better, where the 95% confidence interval excludes zero, for a single task where p is below"
    f" {LEVEL} after Holm's correction over the tasks. Detectable: the smallest difference that a test at 5% shows with"
    " a power of 80%."
)


def compare_scores(pair: pd.DataFrame, *, trains: bool) -> Iterator[dict[str, Any]]:
    """Compare two models: yield a row over all tasks for each question, then a row for each task.

    `pair` has by task the difference, first minus second, its standard errors from `items` and `trainings`, and
    whether both models are `at_baseline`.
    """
    difference, count = pair["difference"], len(pair)
    stderr = np.hypot(pair["items"], pair["trainings"])
    of_items, of_both = (
        np.sqrt(np.sum(part.to_numpy() ** 2)) / count for part in (pair["items"], stderr)
    )
    # Other tasks have other items: never less than these do by themselves, if by chance tasks spread so little.
    errors = {"items": (of_items, inf)}
    if trains:
        errors["trainings"] = (of_both if of_both > of_items else np.nan, inf)
    errors["tasks"] = (np.fmax(difference.std() / count**0.5, of_both), count - 1)
    for question, error in errors.items():
        about = {"question": question, "task": OVERALL, "tasks": count}
        about["at_baseline"] = bool(pair["at_baseline"].all())
        yield about | estimate_difference(float(difference.mean()), *error)
    z, p = run_z_test(difference, stderr)
    question = "trainings" if trains and of_both > of_items else "items"
    for at, (task, p_holm) in enumerate(zip(pair.index, holm(p), strict=True)):
        about = {"question": question, "task": task, "tasks": 1, "z": z[at], "p_holm": p_holm}
        about["at_baseline"] = bool(pair["at_baseline"].iloc[at])
        yield about | estimate_difference(difference.iloc[at], stderr.iloc[at])


def compare_grids(
    grids: Mapping[str, Mapping[str, Grid]],
    settings: Mapping[str, GridSettings],
    names: Sequence[str],
    baselines: pd.DataFrame,
) -> pd.DataFrame:
    """Compare two models under each protocol of each grid that has both.

    `baselines` has of this run by task the baseline and the number of items.
    """
    rows, known = [], set()
    for key, by_protocol in grids.items():
        description = settings[key].grid
        for name, grid in by_protocol.items():
            protocol = description.protocols[name]
            models = grid.models["model"] + grid.models["variant"]
            known |= set(models)
            labels = product(*(models.index[models == name] for name in names))
            scores = [grid.values.loc[[*pair]].dropna(axis=1) for pair in labels]
            scores = [pair for pair in scores if not pair.empty and not protocol.scores_of]
            # From one source, if any has both.
            for pair in sorted(scores, key=lambda pair: len(_list_origins(grid, pair)))[:1]:
                source = " and ".join(_list_origins(grid, pair)).replace(OWN, "own scores")
                known_baselines = baselines if description.run else baselines[:0]
                table = _measure_errors(grid.errors.part(pair), known_baselines)
                about = {"scores": source, "protocol": protocol.name}
                rows += [
                    about | row for row in compare_scores(table, trains=protocol.after_training)
                ]
    if not rows:
        hints = [format_suggestion(name, known) for name in names if name not in known]
        raise UserError(
            f"{names[0]} and {names[1]} have no scores on a common task; expected two models of this run, once"
            " `snakemake harmony` has measured them, of a grid in config/grids, or two folders with results of"
            f" lm-eval or lighteval.{''.join(hints)}"
        )
    return pd.DataFrame(rows)


def _list_origins(grid: Grid, pair: pd.DataFrame) -> list[str]:
    return sorted(set(grid.models.loc[pair.index, "origin"]))


def _measure_errors(errors: ScoreErrors, baselines: pd.DataFrame) -> pd.DataFrame:
    """Return the difference of two models on each task, with its errors from items and from trainings."""
    first, second = np.array([0]), np.array([1])
    untrained = replace(errors, training=errors.training * 0)
    about = baselines.reindex(errors.scores.columns)
    values = {
        "difference": errors.scores.iloc[0] - errors.scores.iloc[1],
        "items": untrained.compute_difference_stderrs(first, second)[0],
        "trainings": np.hypot(*errors.training.to_numpy(float)),
        "at_baseline": _are_at_baseline(
            errors.scores.to_numpy(float), about["baseline"], about["n"]
        ),
    }
    return pd.DataFrame(values, errors.scores.columns)


def _are_at_baseline(scores: np.ndarray, baseline: pd.Series, n: pd.Series) -> np.ndarray:
    """Tell of each task whether no score was shown to be above the baseline; not where that is not known."""
    above = [compute_baseline_z(row, np.nan, baseline, n) for row in scores]
    return np.array(above).max(axis=0) < CLEAR


def compare_folders(
    folders: Sequence[str], names: dict[str, Any], tasks: dict[str, Any]
) -> tuple[pd.DataFrame, list[str]]:
    """Compare the models of two result folders, one metric a task, and list what differs in their settings.

    `names` has, by harness and its own name for a task, ours; `tasks` the metric that tables report of each.
    """
    first, second = (_read_results(folder, names, tasks) for folder in folders)
    both = first.merge(second, on=["task", "metric"], suffixes=("", "_other"))
    if both.empty:
        has = [", ".join(sorted(set(one["task"] + " " + one["metric"]))) for one in (first, second)]
        raise UserError(
            f"{folders[0]} has {has[0]}, and {folders[1]} has {has[1]}; expected a task and a metric in common."
        )
    reported = both["task"].map({task: about["metric"] for task, about in tasks.items()})
    # Of several pairs of a task: with as many shots, and by the metric that tables report.
    order = both["shots"].ne(both["shots_other"]) * 2 + both["metric"].ne(reported)
    both = both.loc[order.sort_values(kind="stable").index].drop_duplicates("task").sort_index()
    pair = pd.DataFrame([_compare_items(row) for row in both.to_dict("records")])
    scores = both[["value", "value_other"]].to_numpy(float).T
    are_low = _are_at_baseline(scores, both["baseline"], both["n"])
    pair = pair.assign(trainings=0.0, at_baseline=are_low)
    results = compare_scores(pair.set_index(both["task"] + " " + both["metric"]), trains=False)
    notes = []
    for name in ("harness", "dtype", "shots", "n", "prompts"):
        rows = both[both[name] != both[f"{name}_other"]]
        for value, other in rows[[name, f"{name}_other"]].to_numpy()[:1]:
            notes.append(f"Different {name} on {', '.join(rows['task'])}: {value} and {other}.")
    if both[["prompts", "prompts_other"]].eq("unknown").any(axis=None):
        notes.append(
            "Caution: without hashes of prompts nothing shows that both were asked the same."
        )
    about = {"scores": "result folders", "protocol": "as evaluated"}
    return pd.DataFrame([about | row for row in results]), notes


def _read_results(folder: str, names: dict[str, Any], tasks: dict[str, Any]) -> pd.DataFrame:
    """Read a row for each score of a folder, with its items' scores by cluster and item."""
    rows: list[dict[str, Any]] = []
    for cell, items in read_folder(Path(folder), names, tasks):
        hashes = [item.prompt_sha256 for item in items]
        about = {"task": cell.task, "model": cell.model + cell.variant, "shots": cell.shots}
        about["harness"] = f"{cell.harness} {cell.harness_version}"
        about["dtype"] = cell.dtype or "unknown"
        about["prompts"] = hash_json(hashes)[:8] if hashes and all(hashes) else "unknown"
        for score in cell.scores:
            if score.subset is None:
                values = {
                    (item.cluster or item.item, item.item): item.scores.get(score.name)
                    for item in items
                }
                items_of_score = pd.Series(values, dtype=float)
                rows.append(about | describe_score(score) | {"items": items_of_score})
    models = sorted({row["model"] for row in rows})
    if len(models) > 1:
        raise UserError(f"{folder} has results of {', '.join(models)}; expected one model.")
    return pd.DataFrame(rows)


def _compare_items(row: dict[str, Any]) -> dict[str, float]:
    """Compare two scores item by item where both have items of one harness, else as independent samples."""
    apart = (row["items"] - row["items_other"]).dropna()
    if row["harness"].split()[0] != row["harness_other"].split()[0] or len(apart) < 2:
        stderr = np.hypot(*np.array([row["stderr"], row["stderr_other"]], float))
        return {"difference": row["value"] - row["value_other"], "items": stderr}
    sums = (apart - apart.mean()).groupby(level=0).sum()
    # At least one answer's worth, where both answered alike.
    stderr = max(float(np.sqrt((sums**2).sum())), 1.0) / len(apart)
    return {"difference": float(apart.mean()), "items": stderr}


def describe_verdict(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Describe the difference, which model is better if any is, and whether both are at the baseline."""
    if np.isnan(row["low"]):
        return "unknown: no standard error"
    difference, low, high, detectable = (
        fixed(100 * row[key], ".2f") for key in ("difference", "low", "high", "detectable")
    )
    verdict = "not settled"
    if not row["p_holm"] >= LEVEL and row["low"] * row["high"] > 0:
        verdict = f"{names[0] if row['low'] > 0 else names[1]} is better"
    baseline = "; both at the baseline" if row["at_baseline"] else ""
    return f"{verdict}: {difference} points (95% CI {low} to {high}), detectable from {detectable}{baseline}"


def read_baselines(paths: Sequence[str], tasks: dict[str, Any]) -> pd.DataFrame:
    """Read the baseline of the reported metric of each task, and its number of items, from scores of this run."""
    empty = pd.DataFrame(columns=["task", "subset", "metric", "baseline", "n"])
    scores = pd.concat([empty, *(pd.read_parquet(path, columns=list(empty)) for path in paths)])
    reported = scores["task"].map({task: about["metric"] for task, about in tasks.items()})
    scores = scores[scores["subset"].isna() & (scores["metric"] == reported)]
    return scores.dropna(subset="baseline").drop_duplicates("task").set_index("task")


def plot_differences(table: pd.DataFrame, names: Sequence[str], files: list[Path]) -> None:
    """Plot the difference on each task and on their mean, with its 95% interval, a colour for each protocol."""
    means = "mean, " + table.loc[table["task"] == OVERALL, "question"].map(QUESTIONS)
    table = table.assign(label=means.reindex(table.index).fillna(table["task"]))
    labels = list(dict.fromkeys([*means, *table["label"]]))
    groups = table.groupby(["scores", "protocol"], sort=False)
    with drawing(files, 6.5, 1.4 + 0.22 * len(labels) + 0.2 * len(groups)) as (fig, axes):
        for at, (group, rows) in enumerate(groups):
            down = rows["label"].map(labels.index) + 0.6 * ((at + 0.5) / len(groups) - 0.5)
            points = 100 * rows[["difference", "low", "high"]]
            ends = measure_ends(points["difference"], points["low"], points["high"])
            look = {"fmt": "o", "markersize": 3, "color": PALETTE[at % len(PALETTE)]}
            axes.errorbar(points["difference"], down, xerr=ends, label=", ".join(group), **look)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set_yticks(range(len(labels)), labels, fontsize=8)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.set_xlabel("percentage points, with the 95% confidence interval")
        fig.suptitle("\nminus ".join(names), fontsize=8)
        rule(axes, "x")
        draw_legend_below(fig, axes, 2)


def main(  # noqa: PLR0913  (files and config values of a job, by name)
    grids: list[Path],
    table: list[Path],
    figure: list[Path],
    answer: Path,
    names: list[str],
    folders: Mapping[str, str],
    settings: dict[str, dict[str, Any]],
    own: list[str],
    own_scores: list[str],
    harness_tasks: dict[str, Any],
) -> None:
    """Compare two result `folders`, or two models of grids, whose cells and models are files named after them.

    `own` and `own_scores` are files of this run that are there, which are never made for this.
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
        files = {path.stem: path for path in [*grids, *map(Path, own)]}
        known = {key: GridSettings.of(settings[key]) for key in settings if key in files}
        cells = {key: read_grids(files[key], files[f"{key}_models"]) for key in known}
        results = compare_grids(
            cells, known, names, read_baselines(own_scores, harness_tasks["tasks"])
        )
    verdicts = results.apply(describe_verdict, axis=1, names=names)
    shown = {
        "Scores": results["scores"],
        "Protocol": results["protocol"],
        "Task": results["task"],
        "Uncertainty": results["question"].map(QUESTIONS),
        "Verdict": verdicts,
    }
    title = f"Is {names[0]} better than {names[1]}?"
    note = " ".join([_NOTE.format(*names), *notes])
    write_table(results, table, title=title, note=note, shown=shown)
    plot_differences(results, names, figure)
    means = pd.DataFrame(shown)[results["task"] == OVERALL].drop(columns="Task")
    lines = [title, *(", ".join(row[:-1]) + f": {row[-1]}" for row in means.to_numpy())]
    write_text(answer, "\n  ".join([*lines, *notes, f"{table[1]}, {figure[1]}"]) + "\n")


if "snakemake" in globals():
    run_job(main, snakemake)
