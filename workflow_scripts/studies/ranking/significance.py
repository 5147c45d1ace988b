"""Which models differ by more than chance, on each task and over all of them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow_scripts.render.frames import Columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import number, numbers, p_value, with_errors
from workflow_scripts.render.words import LEVEL
from workflow_scripts.stats.significance import exact_p, holm, z_test
from workflow_scripts.studies.ranking.answers import right_answers
from workflow_scripts.studies.ranking.frame import OVERALL, RAW_AND_MISSING, of_kind
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.requests import GridRequest

ALL_SHOWN = 10  # models of a protocol, up to which the readable table has every pair
ALL_TASKS = 100  # and the CSV every pair on every task; of 600 models that would be gigabytes
NOTE = (
    "Difference of the mean score over the tasks that both models have, in percentage points, with its"
    " standard error, z and two-sided p; tasks won and lost count those on which the pair differs"
    f" significantly. Everywhere p is corrected by Holm's method over all pairs of models of a protocol"
    f" on one task (or on the mean), and significant is below {LEVEL}. On single tasks: McNemar's exact"
    " test of the same items where both models' answers are at hand, z from the standard errors"
    f" elsewhere. Up to {ALL_SHOWN} models all pairs are shown, beyond that each model and the next"
    " lower by mean score. The CSV has every pair over all tasks, and on single tasks as well up to"
    f" {ALL_TASKS} models, beyond that neighbours only."
    f" {RAW_AND_MISSING}"
)
COLUMNS = Columns(
    {
        **of_kind("text", "protocol first second"),
        **of_kind("whole", "first_place second_place"),
        **of_kind("text", "task test"),
        **of_kind("number", "difference stderr z b c p p_holm"),
        **of_kind("whole", "tasks won lost"),
    }
)
Answers = Mapping[tuple[str, str, str], pd.Series]


def significance(grids: dict[str, Grid], answers: Answers) -> pd.DataFrame:
    """One row per protocol, pair of models and task, and one over all tasks of the pair.

    `answers` has by protocol, label and task whether each item, its index, was answered rightly, in
    the order of the items' names; labels are those of own runs.
    `first` is the model with the higher mean score.
    """
    tables = [_of_protocol(grid, answers) for grid in grids.values()]
    return pd.concat([t for t in tables if len(t)] or tables[:1], ignore_index=True)


def _of_protocol(grid: Grid, answers: Answers) -> pd.DataFrame:
    scores = grid.measured.dropna(how="all")
    order = scores.mean(axis=1).sort_values(ascending=False, kind="stable").index
    values = scores.loc[order].to_numpy()
    errors = grid.stderrs.loc[order, scores.columns].to_numpy()
    above, below = np.triu_indices(len(order), 1)
    if not len(above):
        return pd.DataFrame(columns=list(COLUMNS.named))
    pair = pd.DataFrame(
        {
            **{"protocol": grid.protocol, "first": order[above], "second": order[below]},
            **{"first_place": above + 1, "second_place": below + 1},
        }
    )
    kept = np.full(len(above), True) if len(order) <= ALL_TASKS else below == above + 1
    tables, won, lost = [], np.zeros(len(above)), np.zeros(len(above))
    for at, task in enumerate(scores):
        z = z_test(values[above, at], errors[above, at], values[below, at], errors[below, at])
        b, c, p = _mcnemar(grid.protocol, task, list(order), above, below, answers)
        exact = ~np.isnan(p)
        p = np.where(exact, p, z.p)
        corrected = holm(p)
        won += (corrected < LEVEL) & (z.difference > 0)
        lost += (corrected < LEVEL) & (z.difference < 0)
        found = pd.DataFrame(
            {"task": task, "test": np.where(exact, "mcnemar", "z")}
            | {"difference": z.difference, "stderr": z.stderr, "z": z.z}
            | {"b": b, "c": c, "p": p, "p_holm": corrected}
        )
        tables.append(pair[kept].join(found).dropna(subset=["difference"]))
    overall = _overall(values, errors, above, below)
    counts = {"won": won, "lost": lost}
    tables.insert(0, pair.assign(**{"task": OVERALL, "test": "z"} | overall | counts))
    return pd.concat(tables, ignore_index=True).reindex(columns=list(COLUMNS.named))


def _overall(values: np.ndarray, errors: np.ndarray, above, below) -> dict[str, np.ndarray]:
    """The mean difference over the tasks that both have; tasks are independent of one another."""
    differences = values[above] - values[below]
    count = (~np.isnan(differences)).sum(axis=1)
    variances = (errors[above] ** 2 + errors[below] ** 2) + 0 * differences
    unknown = (np.isnan(variances) & ~np.isnan(differences)).any(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(differences, axis=1) / count
        stderr = np.where(unknown, np.nan, np.sqrt(np.nansum(variances, axis=1)) / count)
    z = z_test(mean, stderr, 0.0, 0.0)
    found = {"difference": mean, "stderr": stderr, "z": z.z, "p": z.p, "p_holm": holm(z.p)}
    return found | {"tasks": count}


def _mcnemar(
    protocol: str, task: str, labels: list[str], above, below, answers: Answers
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts and p of each pair; NaN for pairs whose items are not at hand or not the same."""
    at_hand = {
        at: answers[key]
        for at, label in enumerate(labels)
        if (key := (protocol, label, task)) in answers
    }
    groups: list[list[int]] = []  # of models that were asked the same items
    for at, right in at_hand.items():
        known = (group for group in groups if at_hand[group[0]].index.equals(right.index))
        if (group := next(known, None)) is None:
            groups.append(group := [])
        group.append(at)
    # How many items the one answered rightly and the other wrongly.
    alone = np.full((len(labels), len(labels)), np.nan)
    for members in groups:
        right = np.stack([at_hand[at].to_numpy(dtype=bool) for at in members])
        alone[np.ix_(members, members)] = right.astype(float) @ (~right).astype(float).T
    b, c, p = alone[above, below], alone[below, above], np.full(len(above), np.nan)
    known = ~np.isnan(b)
    p[known] = exact_p(b[known], c[known])
    return b, c, p


def _show(table: pd.DataFrame, request: GridRequest) -> pd.DataFrame:
    table = table[table["task"] == OVERALL]
    models = table.groupby("protocol")["second_place"].transform("max")
    neighbours = table["second_place"] == table["first_place"] + 1
    table = table[(models <= ALL_SHOWN) | neighbours]
    return pd.DataFrame(
        {
            "Protocol": table["protocol"].map(request.grid.names),
            "Higher": table["first"],
            "Lower": table["second"],
            "Tasks": numbers(table["tasks"], ".0f"),
            "Difference": with_errors(
                100 * table["difference"], 100 * table["stderr"], lambda value: number(value, ".2f")
            ),
            "z": numbers(table["z"], ".1f"),
            "p (Holm)": list(map(p_value, table["p_holm"])),
            "Tasks won": numbers(table["won"], ".0f"),
            "Tasks lost": numbers(table["lost"], ".0f"),
        }
    )


def _make(inputs: Inputs, request: GridRequest) -> pd.DataFrame:
    return significance(read_grids(inputs, request), right_answers(inputs["records"]))


TABLE = Table(
    name="significance",
    title="Which models differ",
    note=NOTE,
    columns=COLUMNS,
    asks=GridRequest,
    make=_make,
    show=_show,
)
