"""How well tasks agree about models, by protocol, beside what noise alone would leave."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

from workflow_scripts.render.frames import Columns
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import intervals, numbers
from workflow_scripts.stats.agreement import (
    agreement_by_category,
    agreement_by_task,
    kendall_matrix,
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
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.requests import GridWords, RankingRequest

_NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have, own runs and"
    " imported scores together; means over pairs of different tasks. 95% intervals: over models, had"
    " other models of the kind been taken; over items, had other test items been drawn. Own redraw:"
    " agreement of a task with its scores drawn again within their standard errors, mean over tasks."
    " Noise ceiling: what tasks could agree at most if they differed in nothing but noise. Against"
    " direct: over the models and cells that both protocols have, the interval paired over models."
    f" A dash is a number that the scores at hand do not give. {frame.RAW_AND_MISSING}"
)
_NOTE_OF_OTHERS = (
    "Agreement of the {scores} of two tasks over {models} models: Kendall's tau-b of the rankings{pearson}."
    " Means over pairs of different tasks, the diagonal left out. Rising:"
    " pairs whose agreement is higher after training on each task than directly. Each task with the"
    " others, and all pairs, are in the CSV; the pairs are in the figures too."
)
_OF_OTHERS = {frame.MEAN: "mean of all pairs", frame.SHARE: "share of pairs that rise"}
# Origins and intervals are there where scores are drawn again, the measure where there are several.
_INTERVALS = ("models_low", "models_high", "items_low", "items_high")
_ORDER = (
    *("protocol", "origins", "measure", "statistic", "first", "second", "value"),
    *(*_INTERVALS, "models", "pairs"),
)
COLUMNS = Columns(
    {
        **frame.of_kind("text", "protocol statistic"),
        **frame.of_kind("maybe", "first second"),
        **frame.of_kind("number", "value"),
        **frame.of_kind("whole", "models pairs"),
    },
    like={"origins|measure": "text", "(models|items)_(low|high)": "number"},
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
    if request.draws:
        return table.drop(columns=[] if len(request.grid.measures) > 1 else ["measure"])
    return table.drop(columns=["origins", *_INTERVALS]).astype({"pairs": "Int64"})


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
    if request.draws:
        rows += _drawn_again(grid, scores, rows, request)
        rows += [
            {"statistic": frame.CATEGORY, "first": first, "second": second, "value": value}
            for first, second, value, _ in by_category(matrix, request)
            if pd.notna(value)  # a category of one task has no pairs within
        ]
    return [base | row for row in [*rows, *({"statistic": frame.PAIR} | pair for pair in pairs)]]


def _drawn_again(
    grid: Grid, scores: pd.DataFrame, rows: list[dict], request: RankingRequest
) -> list[dict]:
    """Set the intervals of the mean and of each task, and tell what noise alone would leave."""
    often = {"draws": request.draws, "seed": request.seed}
    stderrs = grid.stderrs.loc[scores.index, scores.columns]
    over_models = interval_over_models(scores, **often)
    over_items = interval_over_items(scores, stderrs, **often)
    redrawn = noise_ceiling(scores, stderrs, draws=max(request.draws // 5, 10), seed=request.seed)
    ceilings = ceiling_of_pairs(redrawn["two_redraws"])
    mean, *tasks = rows
    mean |= {"models_low": over_models.low, "models_high": over_models.high}
    mean |= {"items_low": over_items.low, "items_high": over_items.high}
    if len(scores) > 2:
        drawn = bootstrapped_by_task(scores, **often)
        for at, row in enumerate(tasks):
            row["models_low"], row["models_high"] = percentiles(drawn[:, at])
    return [
        {"statistic": frame.OWN_REDRAW, "value": redrawn["own_redraw"].mean()},
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
    if not request.draws:
        return [share]
    often = {"draws": request.draws, "seed": request.seed}
    difference = difference_of_agreement(first, second, **often)
    errors = (
        grid.stderrs.loc[kept, used].where(values.notna())
        for grid, values in ((direct, first), (other, second))
    )
    over_items = difference_over_items(first, next(errors), second, next(errors), **often)
    reach = {"models_low": difference.low, "models_high": difference.high}
    reach |= {"items_low": over_items.low, "items_high": over_items.high}
    return [base | {"statistic": frame.DIFFERENCE, "value": difference.value} | reach, share]


def _of(first: Any, second: Any, names: dict[str, str]) -> str:
    """A task, a category with itself, or two categories; nothing where it is about all tasks."""
    if pd.isna(first):
        return ""
    if first == second:
        return f"within {first}"
    return names.get(first, first) if pd.isna(second) else f"{first} and {second}"


def _show(table: pd.DataFrame, request: RankingRequest) -> pd.DataFrame:
    # Pairs are hundreds; they are in the CSV and the figure.
    shown = frame.STATISTICS if request.draws else _OF_OTHERS
    table = table[table["statistic"].isin(list(shown)) & (table["statistic"] != frame.PAIR)]
    statistics = table["statistic"].map(shown)
    if request.draws:
        about = zip(table["first"], table["second"], strict=True)
        said = {
            "Statistic": statistics,
            "Of": [_of(first, second, request.names) for first, second in about],
        }
        reach = {
            "Over models": intervals(table["models_low"], table["models_high"]),
            "Over items": intervals(table["items_low"], table["items_high"]),
        }
    else:
        said = {"Measure": table["measure"].map(frame.MEASURES), "Of": statistics}
        reach = {}
    return pd.DataFrame(
        {
            "Protocol": table["protocol"].map(request.grid.names),
            **said,
            "Value": numbers(table["value"]),
            **reach,
            "Models": numbers(table["models"], ".0f"),
            "Pairs": numbers(table["pairs"], ".0f"),
        }
    )


def _note(table: pd.DataFrame, request: RankingRequest) -> str:
    if request.grid.run:
        return _NOTE
    pearson = ", and Pearson's r of the scores" if "pearson" in request.grid.measures else ""
    models = table["models"].max()
    return _NOTE_OF_OTHERS.format(scores=request.grid.called, models=models, pearson=pearson)


TABLE = Table(
    name="agreement",
    title=frame.titled("Agreement of tasks about models", "agreement of tasks about models"),
    note=_note,
    columns=COLUMNS,
    asks=RankingRequest,
    make=lambda inputs, request: agreement(read_grids(inputs, request), request),
    show=_show,
)
