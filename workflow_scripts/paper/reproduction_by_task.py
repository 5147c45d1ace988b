"""Each task of the train-before-test grid over all models: how far a rerun may lie, and how far ours does.

A score of a single model moves by points when it is trained again. Over many models that evens out, so that a
task on which a rerun lies three points off shows here, where few of its single scores would show it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.render.verdict import (
    BY_LUCK,
    JUDGED,
    LIMIT,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
    apply_margins,
    judged,
)
from workflow_scripts.stats.reruns import Reruns
from workflow_scripts.studies.harmony.published import AFTER_TRAINING
from workflow_scripts.studies.harmony.requests import HarmonyComparison
from workflow_scripts.studies.ranking.errors import estimate_reruns

ADDED = 0.03  # the change of a task that the table says how likely it would show
FEWEST = 5  # models, below which the middle one is no measure of all
NOTE = (
    "Trained twice: models whose score is another in the authors' own two releases, the leaderboard of their"
    " README and the scores beside their code. Usually: what four of five of these differences stay below,"
    " drawn towards the mean of all tasks. A score differs from: the most that a score of a rerun lies away,"
    f" but for {BY_LUCK:.0%} of all; times what models of its family and size stray farther or less than"
    " usual. Shift: the median difference of the two releases; the median of all"
    f" models differs from: the most that it moves in a rerun, but for {BY_LUCK:.0%} of tasks. {100 * ADDED:.0f}"
    " points show: in so many of the scores trained twice, had one release been better by that. Models,"
    " difference, z, verdict: of our scores, the median difference to the published ones; it agrees where it"
    " surely (90%) lies within the margin of the config, and is inconclusive where neither that nor a"
    " difference was shown. Would show: the smallest difference that would have been shown four"
    " times in five. All but z in"
    " percentage points."
)
_INTEGERS = ["trained_twice", "released_differ", "models"]
_COLUMNS = [
    *("source", "task", "trained_twice", "released_differ", "usual", "score_limit", "shift"),
    *("task_limit", "shows", "models", "difference", "error", "z", "farthest", "smallest"),
    *("verdict", "because"),
]


def compute_by_task(reproduction: pd.DataFrame, reruns: Reruns) -> pd.DataFrame:
    """Compute a row per task and published source of scores after training."""
    trained = reproduction[reproduction["metric"] == AFTER_TRAINING]
    trained = trained[trained["item"].isin(reruns.usual.index)]
    rows = [
        {
            "source": source,
            "task": task,
            **_compare_releases(task, reruns),
            **_compare_ours(task, cells, reruns),
        }
        for (source, task), cells in trained.groupby(["source", "item"], sort=False)
    ]
    numeric = dict.fromkeys(_COLUMNS[2:-2], "float64") | dict.fromkeys(_INTEGERS, "Int64")
    return pd.DataFrame(rows, columns=_COLUMNS).astype(numeric)


def _compare_releases(task: str, reruns: Reruns) -> dict[str, Any]:
    differences = reruns.differences[task].dropna()
    most = reruns.most(task) * reruns.strays[differences.index]
    found = [((differences + moved).abs() > most).mean() for moved in (-ADDED, ADDED)]
    return {
        "trained_twice": len(differences),
        "released_differ": int((differences.abs() > most).sum()),
        "usual": reruns.usual[task],
        "score_limit": reruns.most(task),
        "shift": differences.median(),
        "task_limit": LIMIT * reruns.shift_error(task, len(reruns.differences)),
        "shows": sum(found) / 2,
    }


def _compare_ours(task: str, cells: pd.DataFrame, reruns: Reruns) -> dict[str, Any]:
    compared = cells[cells["verdict"].isin(JUDGED)]
    models = len(compared)
    other = cells[cells["verdict"] == OTHER_PROTOCOL]
    if models < FEWEST <= len(other):
        because, difference = other["because"].mode().iloc[0], other["difference"].median()
        about = {"verdict": OTHER_PROTOCOL, "because": because}
        return {"models": len(other), "difference": difference, **about}
    if models < FEWEST:
        reasons = cells.loc[~cells.index.isin(compared.index), "because"]
        because = f"fewer than {FEWEST} models" if models else reasons.mode().iloc[0]
        return {"models": models, "verdict": NOT_COMPARABLE, "because": because}
    difference, error = compared["difference"].median(), reruns.shift_error(task, models)
    return {"models": models, **judged(difference, error, difference / error)}


def _format_columns(table: pd.DataFrame) -> pd.DataFrame:
    shown = pd.DataFrame(
        {
            "Published in": table["source"],
            "Task": table["task"],
            "Trained twice": numbers(table["trained_twice"], "d"),
            "Usually": percents(table["usual"]),
            "A score differs from": percents(table["score_limit"]),
            "Shift": percents(table["shift"], "+.1f"),
            "The median differs from": percents(table["task_limit"]),
            f"{100 * ADDED:.0f} points show (%)": percents(table["shows"], ".0f"),
            "Models": numbers(table["models"], "d"),
            "Difference": percents(table["difference"], "+.1f"),
            "z": numbers(table["z"], "+.1f"),
            "Would show": percents(table["smallest"]),
            "Verdict": list(_format_verdicts(table)),
        }
    )
    return shown if table["source"].nunique() > 1 else shown.drop(columns="Published in")


def _format_verdicts(table: pd.DataFrame) -> Iterator[str]:
    for row in table.itertuples():
        yield f"{row.verdict}: {row.because}" if row.because else row.verdict


def main(
    reproduction: Path, published: list[Path], table: list[Path], harmony: dict[str, Any]
) -> None:
    comparison = HarmonyComparison.of(harmony)
    releases = {path.stem: pd.read_csv(path) for path in published}
    reruns = estimate_reruns(
        releases["harmony_leaderboard"], releases["harmony_cells"], comparison.models
    )
    by_task = compute_by_task(read_table(reproduction), reruns)
    results = apply_margins(by_task, pd.Series(comparison.margin, by_task.index))
    title = "Scores after training beside the published ones, task by task"
    write_table(results, table, title=title, note=NOTE, shown=_format_columns(results))


if "snakemake" in globals():
    run_job(main, snakemake)
