"""How well tasks agree about models, by protocol, beside what drawing again alone would leave."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import intervals, numbers
from workflow_scripts.stats.agreement import (
    agreement_by_category,
    agreement_by_task,
    kendall_matrix,
    mean_of_pairs,
    share_improving,
    shared_cells,
)
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.redraws import (
    agree_with_redraw,
    ceiling_of_pairs,
    difference_drawn,
    interval_drawn,
)
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.requests import GridWords, RankingRequest

_NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have; means over pairs"
    " of different tasks. 95% intervals: over families, had"
    " other families of models been taken (in brackets how many there are, or how many models where"
    " families are fewer than four); over items, had other test items been drawn, the same for all"
    " models{trainings}. Own redraw: agreement of a task with its scores drawn again so, mean over tasks."
    " Ceiling: what tasks could agree at most if they differed in nothing but that. Against"
    " direct: over the models and cells that both protocols have."
    " A dash is a number that the scores at hand do not give. {last}"
)
_OF_ALL = {frame.MEAN, frame.OWN_REDRAW, frame.CEILING, frame.DIFFERENCE, frame.SHARE}
# Origins are told of a run, the measure where there are several.
_INTERVALS = ("families_low", "families_high", "groups", "of", "items_low", "items_high")
_ORDER = (
    *("protocol", "origins", "measure", "statistic", "first", "second", "value"),
    *(*_INTERVALS, "models", "pairs"),
)
COLUMNS = columns(
    ("text", "protocol statistic"),
    ("maybe", "first second"),
    ("number", "value"),
    ("whole", "models pairs"),
    like={
        "origins|measure": "text",
        "(families|items)_(low|high)": "number",
        "groups": "whole",
        "of": "maybe",
    },
)


def correlations(scores: pd.DataFrame, measure: str) -> pd.DataFrame:
    return kendall_matrix(scores) if measure == "kendall" else scores.corr()


def agreement(grids: dict[str, Grid], request: RankingRequest) -> pd.DataFrame:
    """One row per number, in long form: protocol, statistic, task or category or pair of them."""
    direct = grids.get(request.grid.baseline)
    rows = []
    for grid in grids.values():
        for measure in request.grid.measures:
            rows += _of_protocol(grid, measure, request)
            if direct and grid is not direct:
                rows += _against_direct(direct, grid, measure, request)
    order = [*request.grid.protocols, *request.grid.measures, *frame.STATISTICS]
    table = pd.DataFrame(rows, columns=list(_ORDER)).sort_values(
        ["protocol", "measure", "statistic"],
        key=lambda column: column.map({name: at for at, name in enumerate(order)}),
        kind="stable",
        ignore_index=True,
    )
    alone = [] if len(request.grid.measures) > 1 else ["measure"]
    return table.drop(columns=[*alone, *([] if request.grid.run else ["origins"])])


def _of_protocol(grid: Grid, measure: str, request: RankingRequest) -> list[dict]:
    scores = grid.measured.dropna(how="all")
    matrix = correlations(scores, measure)
    base: dict[str, Any] = {"protocol": grid.protocol, "origins": grid.origins, "measure": measure}
    base |= {"models": len(scores)}
    pairs = [
        {"first": a, "second": b, "value": matrix.at[a, b]}
        for at, a in enumerate(matrix)
        for b in matrix.columns[at + 1 :]
    ]
    known = sum(pd.notna(pair["value"]) for pair in pairs)
    rows = [{"statistic": frame.MEAN, "value": mean_of_pairs(matrix.to_numpy()), "pairs": known}]
    rows += [
        {"statistic": frame.TASK, "first": task, "value": value}
        for task, value in agreement_by_task(matrix).items()
    ]

    def statistics(kept: np.ndarray) -> np.ndarray:
        left = correlations(scores[kept], measure)
        return np.array([mean_of_pairs(left.to_numpy()), *agreement_by_task(left)])

    reach = over_families(statistics, grid.models.loc[scores.index, "family"])
    for at, row in enumerate(rows):
        low, high = max(reach.low[at], -1.0), min(reach.high[at], 1.0)
        row |= {"families_low": low, "families_high": high}
        row |= {"groups": reach.groups, "of": reach.of}
    if measure == "kendall":
        rows += _drawn_again(grid.errors.part(scores), matrix, rows[0], request)
    rows += [
        {"statistic": frame.CATEGORY, "first": first, "second": second, "value": value}
        for first, second, value, _ in by_category(matrix, request)
        if pd.notna(value)  # a category of one task has no pairs within
    ]
    return [base | row for row in [*rows, *({"statistic": frame.PAIR} | pair for pair in pairs)]]


def _drawn_again(
    errors: ScoreErrors, matrix: pd.DataFrame, mean: dict[str, Any], request: RankingRequest
) -> list[dict[str, Any]]:
    """Set the mean's interval, and tell what items and trainings alone would leave of agreement."""
    drawn = interval_drawn(errors, draws=request.draws, seed=request.seed)
    mean |= {"items_low": drawn.low, "items_high": drawn.high}
    fewer = {"draws": max(request.draws // 5, 10), "seed": request.seed}
    own = agree_with_redraw(errors, **fewer)
    # Over the pairs of tasks that the mean is over; of none where a score that it is of has no error.
    ceilings = ceiling_of_pairs(errors, **fewer).where(matrix.notna())
    if not errors.are_known:
        own, ceilings = own * float("nan"), ceilings * float("nan")
    return [
        {"statistic": frame.OWN_REDRAW, "value": own.mean()},
        {"statistic": frame.CEILING, "value": mean_of_pairs(ceilings.to_numpy())},
        *(
            {"statistic": frame.TASK_CEILING, "first": task, "value": value}
            for task, value in agreement_by_task(ceilings).items()
        ),
    ]


def by_category(matrix: pd.DataFrame, request: GridWords) -> Iterator[tuple[str, str, float, int]]:
    """Each two categories, the mean over pairs of their tasks, and how many pairs there are."""
    categories = {one.task: one.category for one in request.tasks}
    sizes = Counter(categories[task] for task in matrix)
    means = agreement_by_category(matrix, categories)
    for at, first in enumerate(means):
        for second in means.columns[at:]:
            one, other = sizes[first], sizes[second]
            pairs = one * (one - 1) // 2 if first == second else one * other
            yield first, second, means.at[first, second], pairs


def _against_direct(direct: Grid, other: Grid, measure: str, request: RankingRequest) -> list[dict]:
    first, second = shared_cells(direct.values, other.values)
    kept = first.dropna(how="all").index
    used = first.columns[first.notna().any()]
    first, second = first.loc[kept, used], second.loc[kept, used]
    if len(first) < 2 or first.shape[1] < 2:
        return []
    improved = share_improving(correlations(first, measure), correlations(second, measure))
    base: dict[str, Any] = {
        "protocol": other.protocol,
        "origins": other.origins,
        "measure": measure,
    }
    base |= {"models": len(first), "pairs": improved.pairs}
    share = base | {"statistic": frame.SHARE, "value": improved.share}

    def rise(kept: np.ndarray) -> np.ndarray:
        one, other = (correlations(side[kept], measure) for side in (first, second))
        return np.array(mean_of_pairs(other.to_numpy()) - mean_of_pairs(one.to_numpy()))

    reach = over_families(rise, direct.models.loc[kept, "family"])
    ends: dict[str, Any] = {"families_low": float(reach.low), "families_high": float(reach.high)}
    ends |= {"groups": reach.groups, "of": reach.of}
    if measure == "kendall":
        errors = direct.errors.part(first), other.errors.part(second)
        drawn = difference_drawn(*errors, draws=request.draws, seed=request.seed)
        ends |= {"items_low": drawn.low, "items_high": drawn.high}
    value = float(rise(np.full(len(first), True)))
    return [base | {"statistic": frame.DIFFERENCE, "value": value} | ends, share]


def _of(first: Any, second: Any, names: dict[str, str]) -> str:
    """A task, a category with itself, or two categories; nothing where it is about all tasks."""
    if pd.isna(first):
        return ""
    if first == second:
        return f"within {first}"
    return names.get(first, first) if pd.isna(second) else f"{first} and {second}"


def counted(table: pd.DataFrame) -> list[str | None]:
    """Intervals over families, with how many there are."""
    ends = intervals(table["families_low"], table["families_high"])
    return [
        None if pd.isna(groups) or not reach else f"{reach} ({groups:.0f} {of})"
        for reach, groups, of in zip(ends, table["groups"], table["of"], strict=True)
    ]


def _show(table: pd.DataFrame, request: RankingRequest) -> ShownColumns:
    # Pairs are hundreds; they are in the CSV and the figure. Of others' grids so is what is of one task.
    wanted = _OF_ALL if not request.grid.run else set(frame.STATISTICS) - {frame.PAIR}
    table = table[table["statistic"].isin(wanted)]
    about = zip(table["first"], table["second"], strict=True)
    measure = {"Measure": table["measure"].map(frame.MEASURES)} if "measure" in table else {}
    of = {"Of": [_of(first, second, request.names) for first, second in about]}
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        **measure,
        "Statistic": table["statistic"].map(frame.STATISTICS),
        **(of if request.grid.run else {}),
        "Value": numbers(table["value"]),
        "Over families": counted(table),
        "Over items": intervals(table["items_low"], table["items_high"]),
        "Models": numbers(table["models"], ".0f"),
        "Pairs": numbers(table["pairs"], ".0f"),
    }


def _note(table: pd.DataFrame, request: RankingRequest) -> str:
    run = request.grid.run
    of = (
        frame.RAW_AND_MISSING
        if run
        else "Each task with the others, and all pairs, are in the CSV."
    )
    said = _NOTE.format(trainings=frame.TRAININGS[request.trainings], last=of)
    return said + frame.of_many(table["models"])


TABLE = Table(
    name="agreement",
    title=frame.titled("Agreement of tasks about models", "agreement of tasks about models"),
    note=_note,
    columns=COLUMNS,
    asks=RankingRequest,
    make=lambda inputs, request: agreement(read_grids(inputs, request), request),
    show=_show,
)
