"""How often harmony.stop is wrong when it looks after each task, and what it saves, on the published scores.

Each family of the 61 models is placed by the others after each task of a budget, as harmony.stop does it. The truth is
the PC1 of all tasks of the same release, and then that of the second one, for which every model was trained again; both
on the component of the others in the first.
"""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.settings.grids import PUBLISHED_GRID, grid_inputs
from workflow_scripts.settings.load import load_settings
from workflow_scripts.stats.few_tasks import chosen, in_turn
from workflow_scripts.stats.looks import first_apart, places
from workflow_scripts.stats.principal import component_loadings
from workflow_scripts.stats.unseen_families import NORMAL
from workflow_scripts.studies.ranking.frame import TRAINED
from workflow_scripts.studies.ranking.grid import read_grids
from workflow_scripts.studies.ranking.requests import price_request

ROOT = Path(__file__).resolve().parents[1]
BUDGETS, HALF_WIDTHS = (0.05, 0.1, 0.2), (300.0, 200.0, 150.0)
_LINE = "{:<34} {:>8} {:>8} {:>8}"


def published() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series, pd.Series]:
    """Scores of the two releases by model and task, the models' families, and each task's share of the tokens."""
    request = price_request(load_settings({}, ROOT), PUBLISHED_GRID)
    files = grid_inputs(request.grid, ROOT)
    inputs = Inputs({name: [*map(Path, paths)] for name, paths in files.items()})
    grid, second = read_grids(inputs, request)[TRAINED], read_panel(inputs.one("release"))
    families = grid.models["family"].fillna("other")
    prices = pd.Series(request.prices, dtype=float)[list(grid.values.columns)]
    return grid.values, second.loc[grid.values.index, prices.index], families, prices / prices.sum()


def held_out(
    first: pd.DataFrame, true: pd.DataFrame, families: pd.Series, prices: pd.Series, budget: float
) -> Iterator[tuple[pd.DataFrame, pd.Series, pd.Series, int]]:
    """By family: its models after each task, their true PC1, the price by look, and how many looks there can be."""
    for family in families.unique():
        out = families == family
        panel, new = first[~out], first[out]
        turn = in_turn(panel, prices, chosen(panel, prices, budget))
        unknown = pd.DataFrame(np.nan, new.index, new.columns)
        table = places(panel, families[~out], new, unknown, turn, len(turn))
        standard = (true[out] - panel.mean()) / panel.std(ddof=0)
        truth = 100 * standard @ component_loadings(panel)["PC1"]
        spent = prices[turn].cumsum().set_axis(range(1, len(turn) + 1))
        yield table.assign(truth=table["model"].map(truth)), truth, spent, len(turn)


def main() -> None:
    first, second, family, prices = published()
    for (release, true), budget in product({"first": first, "second": second}.items(), BUDGETS):
        families = list(held_out(first, true, family, prices, budget))
        rows = pd.concat(one for one, *_ in families)
        off = (rows["pc1"] - rows["truth"]).abs()
        single = (off > NORMAL * rows["spread"]).groupby(rows["model"]).any()
        shared = (~rows["truth"].between(rows["low"], rows["high"])).groupby(rows["model"]).any()
        print(
            f"Against the {release} release, budget {budget:.0%}, {families[0][-1]} looks, {len(single)} models"
        )
        print("  an interval of one look misses at some look:", f"{single.mean():.1%}")
        print("  an interval that shares the risk misses:    ", f"{shared.mean():.1%}")
        print(_LINE.format("", "known %", "wrong %", "price %"))
        for width in HALF_WIDTHS:
            print(_stopped(f"  stopped at a half width of {width:.0f}", _until(families, width)))
        print(_stopped("  stopped when two are told apart", _pairs(families)), flush=True)


def _until(families: list, width: float) -> Iterator[tuple[bool, bool, float]]:
    for table, truth, spent, _ in families:
        for model, rows in table.groupby("model"):
            narrow = (rows["high"] - rows["low"]) / 2 <= width
            last = rows[narrow].iloc[0] if narrow.any() else rows.iloc[-1]
            held = last["low"] <= truth[model] <= last["high"]
            yield bool(narrow.any()), not held, spent[last["look"]]


def _pairs(families: list) -> Iterator[tuple[bool, bool, float]]:
    """Two models of different families, and of one."""
    every = pd.concat(table for table, *_ in families)
    truth = pd.concat(true for _, true, *_ in families)
    spent, most = max((one[2:] for one in families), key=lambda one: one[1])
    for pair in combinations(truth.index, 2):
        found = first_apart(every[every["model"].isin(pair)], pair, most)
        for (better, worse), look in found.items():
            yield True, bool(truth[better] < truth[worse]), spent[look]
        if not found:
            yield False, False, spent.iloc[-1]


def _stopped(name: str, stops: Iterator[tuple[bool, bool, float]]) -> str:
    return _LINE.format(name, *(f"{100 * share:.1f}" for share in np.mean(list(stops), axis=0)))


if __name__ == "__main__":
    main()
