"""What of the agreement of tasks is left among models of like size: that larger ones are better is left out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.render.frames import columns
from workflow_scripts.render.numbers import Values
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.stats.agreement import (
    kendall_matrix,
    mean_of_pairs,
    share_improving,
    shared_cells,
)
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.like_sizes import (
    FACTOR,
    FEWEST,
    MOST_PAIRS,
    draw_pairs,
    group_in_bands,
    pair_like,
)
from workflow_scripts.stats.redraws import ceiling_of_pairs
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.agreement import counted
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.requests import GridWords, RankingRequest

ALL, LIKE, BAND = "all", "like", "band"
_NOTE = (
    "Mean of Kendall's tau-b over pairs of different tasks, of all models and of models of like size. Like"
    f" size: two models count where their parameters are at most a factor of {FACTOR:.0f} apart, whatever"
    " their sizes. A band holds the models between two sizes a factor of"
    f" {FACTOR:.0f} apart, if there are {FEWEST} or more. The interval (95%) is over families, had others been"
    " taken (in brackets how many there are, or how many models where families are fewer than four)."
    " Ceiling: what tasks could agree at most if they differed in nothing but what drawing again changes:"
    " had other test items been drawn{trainings}."
    " Rising: pairs of tasks whose agreement is higher than directly, over the cells that both protocols"
    " have."
)
COLUMNS = columns(
    ("text", "protocol origins group"),
    ("number", "smallest largest"),
    ("whole", "models families pairs_of_models"),
    ("number", "value families_low families_high"),
    ("whole", "groups"),
    ("maybe", "of"),
    ("number", "ceiling rising"),
    ("whole", "pairs"),
)


class Group(NamedTuple):
    """Models that are looked at by themselves; of those of like size every model is in it, and not every pair."""

    kind: str
    models: pd.Index
    smallest: float = np.nan
    largest: float = np.nan


def groups(grid: Grid) -> Iterator[Group]:
    """All models that have a score, then each band of sizes, smallest first."""
    scored = grid.measured.dropna(how="all").index
    yield Group(ALL, scored)
    for band in group_in_bands(grid.models.loc[scored, "parameters"]):
        yield Group(BAND, band.models, band.low, band.high)


def by_size(grids: dict[str, Grid], request: RankingRequest) -> pd.DataFrame:
    """One row per protocol and group of models: all, all pairs of like size, and each band."""
    direct = grids.get(request.grid.baseline)
    rows = []
    for grid in grids.values():
        every, *of_bands = groups(grid)
        sized = grid.models.loc[every.models, "parameters"].dropna().index
        for group in (every, Group(LIKE, sized), *of_bands):
            row = _of_group(grid, group, request)
            if row["pairs_of_models"] or group.kind == ALL:
                before = direct if direct and grid is not direct else None
                rows.append(row | (_rising(before, grid, group) if before else {}))
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _of_group(grid: Grid, group: Group, request: RankingRequest) -> dict[str, Any]:
    scores = grid.measured.loc[group.models]
    about, count = grid.models.loc[group.models], len(group.models)

    def mean(kept: np.ndarray) -> np.ndarray:
        left = scores[kept]
        if (
            group.kind == LIKE
        ):  # the pairs, which may be drawn, stay the same: of them those that are left
            left = scores.mul(np.where(kept, 1.0, np.nan), axis=0)
        return np.array(mean_of_pairs(_agreement(left, grid, group).to_numpy()))

    reach = over_families(mean, about["family"])
    found: dict[str, Any] = {
        **{"protocol": grid.protocol, "origins": grid.origins},
        **{"group": group.kind, "models": count, "families": about["family"].nunique()},
        **{"smallest": group.smallest, "largest": group.largest},
        **{"value": float(mean(np.ones(count, dtype=bool)))},
        **{
            "families_low": float(reach.low.clip(-1)),
            "families_high": float(reach.high.clip(None, 1)),
        },
        **{"groups": reach.groups, "of": reach.of},
    }
    if group.kind == LIKE:
        return found | {"pairs_of_models": len(pair_like(about["parameters"])[0])}
    draws = max(request.draws // 5, 10)
    ceilings = ceiling_of_pairs(grid.errors.part(scores), draws, request.seed)
    known = _agreement(scores, grid, group).notna()  # over the pairs of tasks that the mean is over
    found["ceiling"] = mean_of_pairs(ceilings.where(known).to_numpy())
    return found | {"pairs_of_models": count * (count - 1) // 2}


def _agreement(scores: pd.DataFrame, grid: Grid, group: Group) -> pd.DataFrame:
    if group.kind != LIKE:
        return kendall_matrix(scores)
    like = pair_like(grid.models.loc[scores.index, "parameters"])
    return kendall_matrix(scores, draw_pairs(like))


def _rising(direct: Grid, grid: Grid, group: Group) -> dict[str, Any]:
    first, second = shared_cells(direct.values, grid.values.loc[group.models])
    improved = share_improving(*(_agreement(one, grid, group) for one in (first, second)))
    return {"rising": improved.share, "pairs": improved.pairs}


def group_name(kind: str, smallest: float, largest: float) -> str:
    if kind == BAND:
        return f"{labels.size(smallest)} to {labels.size(largest)}"
    return {ALL: "all models", LIKE: "pairs of like size"}[kind]


def named_groups(table: pd.DataFrame) -> list[str]:
    about = zip(table["group"], table["smallest"], table["largest"], strict=True)
    return [group_name(*one) for one in about]


def largest_band(table: pd.DataFrame) -> pd.DataFrame:
    """Of the band with the most models the row of each protocol, with the protocol's key in numbers of prose."""
    known = table[table["protocol"].isin(list(frame.KEYS)) & (table["group"] == BAND)]
    most = known["smallest"][known["models"] == known["models"].max()]
    return keyed(known[known["smallest"].isin(most.iloc[:1])])


def keyed(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(key=table["protocol"].map(frame.KEYS)).dropna(subset=["key"])


def told(table: pd.DataFrame, study: str) -> Values:
    """For prose: the mean over pairs of like size, and that within the band of the most models."""
    values: Values = {}
    for row in largest_band(table).itertuples():
        values |= {
            f"{study}.size_band": group_name(BAND, row.smallest, row.largest),
            f"{study}.size_models": row.models,
            f"{study}.{row.key}.within": row.value,
            f"{study}.{row.key}.within_ceiling": row.ceiling,
            f"{study}.{row.key}.within_rising": row.rising,
        }
    for row in keyed(table[table["group"] == LIKE]).itertuples():
        values |= {
            f"{study}.{row.key}.like": row.value,
            f"{study}.{row.key}.like_low": row.families_low,
            f"{study}.{row.key}.like_high": row.families_high,
            f"{study}.like_pairs": max(row.pairs_of_models, values.get(f"{study}.like_pairs", 0)),
        }
    return values


def _show(table: pd.DataFrame, request: RankingRequest) -> ShownColumns:
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Of": named_groups(table),
        "Models": numbers(table["models"], "d"),
        "Families": numbers(table["families"], "d"),
        "Pairs of models": numbers(table["pairs_of_models"], ",d"),
        "Mean tau-b": numbers(table["value"]),
        "Over families": counted(table),
        "Ceiling": numbers(table["ceiling"]),
        "Rising (%)": percents(table["rising"], ".0f"),
    }


def _note(table: pd.DataFrame, request: RankingRequest) -> str:
    said = _NOTE.format(trainings=frame.TRAININGS[request.trainings])
    said += frame.of_many(table["models"])
    if (table["group"].eq(LIKE) & (table["pairs_of_models"] > MOST_PAIRS)).any():
        said += f" Of the pairs of like size {MOST_PAIRS:,} are drawn at random and counted."
    return f"{said} {frame.RAW_AND_MISSING}" if request.grid.run else said


TABLE = Table(
    name="by_size",
    title=frame.titled("Agreement of tasks within sizes", "agreement of tasks within sizes"),
    note=_note,
    columns=COLUMNS,
    asks=RankingRequest,
    make=lambda inputs, request: by_size(read_grids(inputs, request), request),
    show=_show,
)


def write_by_size(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """Groups of models down, mean tau-b across; a tick of the same colour is the ceiling."""
    table = table.assign(named=named_groups(table)).dropna(subset=["value"])
    order = list(dict.fromkeys(table["named"]))
    with labels.drawing(pdf, png, 6.5, 1.4 + 0.42 * max(len(order), 3)) as (fig, axes):
        if table.empty:
            say_empty(axes, "No two tasks have scores of the same models.")
            return
        for _, rows, shift, look in labels.beside(table, request.grid, gap=0.22):
            down = np.array([order.index(name) for name in rows["named"]]) + shift
            ends = labels.reach(rows["value"], rows["families_low"], rows["families_high"])
            axes.errorbar(rows["value"], down, xerr=ends, linewidth=1, **look)
            axes.plot(rows["ceiling"], down, "|", color=look["color"], markersize=9,
                      markeredgewidth=1.6)  # fmt: skip
        axes.plot([], [], "|", color="0.4", markersize=9, markeredgewidth=1.6,
                  label="ceiling")  # fmt: skip
        most = table.groupby("named")["models"].max()
        said = [f"{name}\n{most[name]} models" for name in order]
        axes.set_yticks(range(len(order)), said, fontsize=8)
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.set_xlabel(f"mean tau-b of two tasks, {labels.interval_over(table)}")
        labels.rule(axes, "x")
        legend_below(fig, axes, 3)


FIGURE = Figure(name="by_size", asks=GridWords, draw=labels.drawn_from(TABLE, write_by_size))
