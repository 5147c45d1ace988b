"""How well tasks agree about models, by protocol, beside what noise alone would leave."""

from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.render.frames import Columns
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import intervals, numbers
from workflow_scripts.settings.ranking import RankingRequest
from workflow_scripts.stats.agreement import (
    agreement_by_category,
    agreement_by_task,
    kendall_matrix,
    mean_agreement,
    mean_of_pairs,
    share_improving,
    shared_cells,
)
from workflow_scripts.stats.intervals import (
    bootstrapped_by_task,
    difference_of_agreement,
    difference_over_items,
    interval_over_items,
    interval_over_models,
    percentiles,
)
from workflow_scripts.stats.noise import ceiling_of_pairs, noise_ceiling
from workflow_scripts.studies.harmony import frame
from workflow_scripts.studies.harmony.grid import Grid, read_grids

NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have, own runs and"
    " imported scores together; means over pairs of different tasks. 95% intervals: over models, had"
    " other models of the kind been taken; over items, had other test items been drawn. Own redraw:"
    " agreement of a task with its scores drawn again within their standard errors, mean over tasks."
    " Noise ceiling: what tasks could agree at most if they differed in nothing but noise. Against"
    " direct: over the models and cells that both protocols have, the interval paired over models."
    f" A dash is a number that the scores at hand do not give. {frame.RAW_AND_MISSING}"
)
COLUMNS = Columns(
    {
        **frame.of_kind("text", "protocol origins statistic"),
        **frame.of_kind("maybe", "first second"),
        **frame.of_kind("number", "value models_low models_high items_low items_high"),
        **frame.of_kind("whole", "models pairs"),
    }
)


def harmony_agreement(grids: dict[str, Grid], asked: RankingRequest) -> pd.DataFrame:
    """One row per number, in long form: protocol, statistic, task or category or pair of them."""
    rows = []
    for grid in grids.values():
        rows += _of_protocol(grid, asked)
        if grid.protocol != frame.DIRECT and frame.DIRECT in grids:
            rows += _against_direct(grids[frame.DIRECT], grid, asked)
    order = {name: at for at, name in enumerate([*frame.PROTOCOLS, *frame.STATISTICS])}
    return pd.DataFrame(rows, columns=list(COLUMNS.named)).sort_values(
        ["protocol", "statistic"],
        key=lambda column: column.map(order),
        kind="stable",
        ignore_index=True,
    )


def _of_protocol(grid: Grid, asked: RankingRequest) -> list[dict]:
    often = {"draws": asked.draws, "seed": asked.seed}
    scores = grid.measured.dropna(how="all")
    stderrs = grid.stderrs.loc[scores.index, scores.columns]
    matrix = kendall_matrix(scores)
    over_models = interval_over_models(scores, **often)
    over_items = interval_over_items(scores, stderrs, **often)
    redrawn = noise_ceiling(scores, stderrs, draws=max(asked.draws // 5, 10), seed=asked.seed)
    ceilings = ceiling_of_pairs(redrawn["two_redraws"])
    base = {"protocol": grid.protocol, "origins": grid.origins, "models": len(scores)}

    def row(statistic: str, value: float, **others) -> dict:
        return base | {"statistic": statistic, "value": value} | others

    pairs = [
        row(frame.PAIR, matrix.at[a, b], first=a, second=b)
        for at, a in enumerate(matrix)
        for b in matrix.columns[at + 1 :]
    ]
    rows = [
        row(
            frame.MEAN,
            mean_agreement(scores),
            **{"models_low": over_models.low, "models_high": over_models.high},
            **{"items_low": over_items.low, "items_high": over_items.high},
            pairs=sum(pd.notna(pair["value"]) for pair in pairs),
        ),
        row(frame.OWN_REDRAW, redrawn["own_redraw"].mean()),
        row(frame.CEILING, mean_of_pairs(ceilings.to_numpy())),
    ]
    by_task, ceiling_by_task = agreement_by_task(matrix), agreement_by_task(ceilings)
    drawn = bootstrapped_by_task(scores, **often) if len(scores) > 2 else None
    for at, task in enumerate(scores):
        low, high = (np.nan, np.nan) if drawn is None else percentiles(drawn[:, at])
        rows += [
            row(frame.TASK, by_task[task], first=task, models_low=low, models_high=high),
            row(frame.TASK_CEILING, ceiling_by_task[task], first=task),
        ]
    by_category = agreement_by_category(matrix, {one.task: one.category for one in asked.tasks})
    for at, first in enumerate(by_category):
        for second in by_category.columns[at:]:
            value = by_category.at[first, second]
            if pd.notna(value):  # a category of one task has no pairs within
                rows.append(row(frame.CATEGORY, value, first=first, second=second))
    return rows + pairs


def _against_direct(direct: Grid, other: Grid, asked: RankingRequest) -> list[dict]:
    first, second = shared_cells(direct.values, other.values)
    kept = first.dropna(how="all").index
    used = first.columns[first.notna().any()]
    first, second = first.loc[kept, used], second.loc[kept, used]
    if len(first) < 2 or first.shape[1] < 2:
        return []
    difference = difference_of_agreement(first, second, draws=asked.draws, seed=asked.seed)
    improved = share_improving(kendall_matrix(first), kendall_matrix(second))
    base = {"protocol": other.protocol, "origins": other.origins, "models": len(first)}
    base |= {"pairs": improved.pairs}
    over_items = difference_over_items(
        first,
        direct.stderrs.loc[kept, used].where(first.notna()),
        second,
        other.stderrs.loc[kept, used].where(second.notna()),
        draws=asked.draws,
        seed=asked.seed,
    )
    reach = {"models_low": difference.low, "models_high": difference.high}
    reach |= {"items_low": over_items.low, "items_high": over_items.high}
    return [
        base | {"statistic": frame.DIFFERENCE, "value": difference.value} | reach,
        base | {"statistic": frame.SHARE, "value": improved.share},
    ]


def _of(first: Any, second: Any, names: dict[str, str]) -> str:
    """A task, a category with itself, or two categories; nothing where it is about all tasks."""
    if pd.isna(first):
        return ""
    if first == second:
        return f"within {first}"
    return names.get(first, first) if pd.isna(second) else f"{first} and {second}"


def _show(table: pd.DataFrame, asked: RankingRequest) -> pd.DataFrame:
    table = table[table["statistic"] != frame.PAIR]  # hundreds; they are in the CSV and the figure
    about = zip(table["first"], table["second"], strict=True)
    return pd.DataFrame(
        {
            "Protocol": table["protocol"].map(frame.PROTOCOLS),
            "Statistic": table["statistic"].map(frame.STATISTICS),
            "Of": [_of(first, second, asked.names) for first, second in about],
            "Value": numbers(table["value"]),
            "Over models": intervals(table["models_low"], table["models_high"]),
            "Over items": intervals(table["items_low"], table["items_high"]),
            "Models": numbers(table["models"], ".0f"),
            "Pairs": numbers(table["pairs"], ".0f"),
        }
    )


TABLE = Table(
    name="harmony_agreement",
    title="Agreement of tasks about models",
    note=NOTE,
    columns=COLUMNS,
    asks=RankingRequest,
    make=lambda inputs, asked: harmony_agreement(read_grids(inputs, asked), asked),
    show=_show,
)
