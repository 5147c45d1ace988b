"""Each task of the train-before-test grid over all models: how far a rerun may lie, and how far ours does.

A score of a single model moves by points when it is trained again. Over many models that evens out, so that a
task on which a rerun lies three points off shows here, where few of its single scores would show it.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from workflow_scripts.paper.reproduction import TABLE as REPRODUCTION
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.render.verdict import (
    BY_LUCK,
    JUDGED,
    LIMIT,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
    judged,
    with_margins,
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
COLUMNS = columns(
    ("text", "source task"),
    ("whole", "trained_twice released_differ"),
    ("number", "usual score_limit shift task_limit shows"),
    ("whole", "models"),
    ("number", "difference error z farthest smallest"),
    ("text", "verdict"),
    ("maybe", "because"),
)


def by_task(reproduction: pd.DataFrame, reruns: Reruns) -> pd.DataFrame:
    """A row a task and published source of scores after training."""
    trained = reproduction[reproduction["metric"] == AFTER_TRAINING]
    trained = trained[trained["item"].isin(reruns.usual.index)]
    rows = [
        {"source": source, "task": task, **_pair(task, reruns), **_ours(task, cells, reruns)}
        for (source, task), cells in trained.groupby(["source", "item"], sort=False)
    ]
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _pair(task: str, reruns: Reruns) -> dict[str, Any]:
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


def _ours(task: str, cells: pd.DataFrame, reruns: Reruns) -> dict[str, Any]:
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


def _make(inputs: Inputs, request: HarmonyComparison) -> pd.DataFrame:
    published = {path.stem: pd.read_csv(path) for path in inputs["published"]}
    reruns = estimate_reruns(
        published["harmony_leaderboard"], published["harmony_cells"], request.models
    )
    table = by_task(REPRODUCTION.read(inputs.one("reproduction")), reruns)
    return with_margins(table, pd.Series(request.margin, table.index))


def _show(table: pd.DataFrame, _: HarmonyComparison) -> pd.DataFrame:
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
            "Verdict": list(_verdicts(table)),
        }
    )
    return shown if table["source"].nunique() > 1 else shown.drop(columns="Published in")


def _verdicts(table: pd.DataFrame) -> Iterator[str]:
    for row in table.itertuples():
        yield f"{row.verdict}: {row.because}" if row.because else row.verdict


TABLE = Table(
    name="reproduction_by_task",
    title="Scores after training beside the published ones, task by task",
    note=NOTE,
    columns=COLUMNS,
    asks=HarmonyComparison,
    make=_make,
    show=_show,
)
