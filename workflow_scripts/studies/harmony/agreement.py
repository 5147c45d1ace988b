"""How well tasks agree about models, by protocol, beside what noise alone would leave."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.tables import write_table
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
    interval_over_items,
    interval_over_models,
    percentiles,
)
from workflow_scripts.stats.noise import ceiling_of_pairs, noise_ceiling
from workflow_scripts.studies.harmony.grid import PROTOCOLS, RAW_AND_MISSING, Grid

TITLE = "Agreement of tasks about models"
NOTE = (
    "Kendall's tau-b between the rankings of two tasks over the models that both have, own runs and"
    " imported scores together; means over pairs of different tasks. 95% intervals: over models, had"
    " other models of the kind been taken; over items, had other test items been drawn. Own redraw:"
    " agreement of a task with its scores drawn again within their standard errors, mean over tasks."
    " Noise ceiling: what tasks could agree at most if they differed in nothing but noise. Against"
    " direct: over the models and cells that both protocols have, the interval paired over models."
    f" A dash is a number that the scores at hand do not give. {RAW_AND_MISSING}"
)
COLUMNS = [
    "protocol",
    "origins",
    "statistic",
    "first",
    "second",
    "value",
    "models_low",
    "models_high",
    "items_low",
    "items_high",
    "models",
    "pairs",
]
MEAN, OWN_REDRAW, CEILING = "mean", "own_redraw", "ceiling"
DIFFERENCE, SHARE = "difference_from_direct", "share_improving_on_direct"
TASK, TASK_CEILING, CATEGORY, PAIR = "task", "task_ceiling", "category", "pair"
STATISTICS = {
    MEAN: "mean agreement",
    OWN_REDRAW: "agreement of a task with its own redraw",
    CEILING: "noise ceiling of that mean",
    DIFFERENCE: "mean agreement minus direct",
    SHARE: "share of pairs that improve on direct",
    TASK: "task with the others",
    TASK_CEILING: "noise ceiling of that task",
    CATEGORY: "category",
    PAIR: "pair",
}


def harmony_agreement(
    grids: dict[str, Grid], tasks: list[dict], *, draws: int, seed: int
) -> pd.DataFrame:
    """One row per number, in long form: protocol, statistic, task or category or pair of them."""
    rows = []
    for grid in grids.values():
        rows += _of_protocol(grid, tasks, draws, seed)
        if grid.protocol != "direct" and "direct" in grids:
            rows += _against_direct(grids["direct"], grid, draws, seed)
    table = pd.DataFrame(rows, columns=COLUMNS)
    order = {name: at for at, name in enumerate(STATISTICS)}
    protocols = {name: at for at, name in enumerate(PROTOCOLS)}
    return table.sort_values(
        ["protocol", "statistic"],
        key=lambda column: column.map(protocols if column.name == "protocol" else order),
        kind="stable",
        ignore_index=True,
    )


def _of_protocol(grid: Grid, tasks: list[dict], draws: int, seed: int) -> list[dict]:
    scores = grid.measured.dropna(how="all")
    stderrs = grid.stderrs.loc[scores.index, scores.columns]
    matrix = kendall_matrix(scores)
    over_models = interval_over_models(scores, draws=draws, seed=seed)
    over_items = interval_over_items(scores, stderrs, draws=draws, seed=seed)
    redrawn = noise_ceiling(scores, stderrs, draws=max(draws // 5, 10), seed=seed)
    ceilings = ceiling_of_pairs(redrawn["two_redraws"])
    ceiling_by_task = agreement_by_task(ceilings)
    categories = {row["task"]: row["category"] for row in tasks}
    base = {"protocol": grid.protocol, "origins": grid.origins, "models": len(scores)}
    pairs = [
        base | {"statistic": PAIR, "first": a, "second": b, "value": matrix.at[a, b]}
        for at, a in enumerate(matrix)
        for b in matrix.columns[at + 1 :]
    ]
    mean = {
        "value": mean_agreement(scores),
        "models_low": over_models.low,
        "models_high": over_models.high,
        "items_low": over_items.low,
        "items_high": over_items.high,
        "pairs": sum(pd.notna(pair["value"]) for pair in pairs),
    }
    rows = [
        base | {"statistic": MEAN} | mean,
        base | {"statistic": OWN_REDRAW, "value": redrawn["own_redraw"].mean()},
        base | {"statistic": CEILING, "value": mean_of_pairs(ceilings.to_numpy())},
    ]
    by_task = agreement_by_task(matrix)
    drawn = bootstrapped_by_task(scores, draws, seed) if len(scores) > 2 else None
    for at, task in enumerate(scores):
        ends = (np.nan, np.nan) if drawn is None else percentiles(drawn[:, at])
        rows.append(
            base
            | {"statistic": TASK, "first": task, "value": by_task[task]}
            | {"models_low": ends[0], "models_high": ends[1]}
        )
        rows.append(
            base | {"statistic": TASK_CEILING, "first": task, "value": ceiling_by_task[task]}
        )
    by_category = agreement_by_category(matrix, categories)
    for at, first in enumerate(by_category):
        for second in by_category.columns[at:]:
            value = by_category.at[first, second]
            if pd.notna(value):  # a category of one task has no pairs within
                pair = {"first": first, "second": second, "value": value}
                rows.append(base | {"statistic": CATEGORY} | pair)
    return rows + pairs


def _against_direct(direct: Grid, other: Grid, draws: int, seed: int) -> list[dict]:
    first, second = shared_cells(direct.values, other.values)
    kept = first.dropna(how="all").index
    used = first.columns[first.notna().any()]
    first, second = first.loc[kept, used], second.loc[kept, used]
    if len(first) < 2 or first.shape[1] < 2:
        return []
    base = {"protocol": other.protocol, "origins": other.origins, "models": len(first)}
    difference = difference_of_agreement(first, second, draws=draws, seed=seed)
    improved = share_improving(kendall_matrix(first), kendall_matrix(second))
    return [
        base
        | {"statistic": DIFFERENCE, "value": difference.value, "pairs": improved.pairs}
        | {"models_low": difference.low, "models_high": difference.high},
        base | {"statistic": SHARE, "value": improved.share, "pairs": improved.pairs},
    ]


def write_harmony_agreement(
    table: pd.DataFrame, tasks: list[dict], csv: Path, md: Path, tex: Path
) -> None:
    names = {row["task"]: row["display_name"] for row in tasks}

    def show(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame[frame["statistic"] != PAIR]  # hundreds; they are in the CSV and the figure
        return pd.DataFrame(
            {
                "Protocol": frame["protocol"].map(PROTOCOLS),
                "Statistic": frame["statistic"].map(STATISTICS),
                "Of": [
                    _of(first, second, names)
                    for first, second in zip(frame["first"], frame["second"], strict=True)
                ],
                "Value": [_number(value) for value in frame["value"]],
                "Over models": _interval(frame["models_low"], frame["models_high"]),
                "Over items": _interval(frame["items_low"], frame["items_high"]),
                "Models": [f"{n:.0f}" for n in frame["models"]],
                "Pairs": [None if pd.isna(n) else f"{n:.0f}" for n in frame["pairs"]],
            }
        )

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)


def _of(first: str | float, second: str | float, names: dict[str, str]) -> str:
    """A task, a category with itself, or two categories; nothing where it is about all tasks."""
    if pd.isna(first):
        return ""
    if first == second:
        return f"within {first}"
    return names.get(first, first) if pd.isna(second) else f"{first} and {second}"


def _number(value: float) -> str | None:
    return None if pd.isna(value) else f"{value:.3f}".replace("-", "−")


def _interval(low: pd.Series, high: pd.Series) -> list[str | None]:
    return [
        None if pd.isna(a) else f"{_number(a)} to {_number(b)}"
        for a, b in zip(low, high, strict=True)
    ]
