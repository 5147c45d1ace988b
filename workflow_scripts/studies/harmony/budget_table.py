"""What a budget buys: how wrong the place of a new model is, by what its trainings take, and the choice made of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.words import many
from workflow_scripts.render.figures import Figure
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, percents
from workflow_scripts.scores.errors import lowest_of
from workflow_scripts.scores.panel import panel_of
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.stats.few_tasks import at_random, cheapest, chosen, in_turn
from workflow_scripts.stats.looks import quantile
from workflow_scripts.stats.placement import Expected, expected
from workflow_scripts.stats.shares import share_error
from workflow_scripts.stats.unseen_families import NORMAL
from workflow_scripts.studies.harmony.budget_requests import BudgetRequest, Choice
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.price import (
    ALL,
    BUDGETS,
    CHEAPEST,
    CHOSEN,
    DRAWN,
    NAMES,
    RANDOM,
    drawn_by_price,
    tasks_named,
)

PAID = "paid"  # what harmony.budget has chosen
_WAYS = NAMES | {PAID: "harmony.budget", ALL: "all tasks"}
NOTE = (
    "How wrong the place of a new model among the panel's is expected to be, by what its training on some of the"
    " tasks takes. Each family of the panel is placed by the models of all others, on the tasks. Price: of training all"
    " models of the config, in hours and as a share of all tasks. Off: root mean square of the error of PC1; ranks:"
    " median error of the rank; half width: median of the 95% interval's; each with the errors of as many test items as"
    " are asked. Within: share of such intervals that hold, of scores without those errors. What another training would"
    " move is in none of them. At random:"
    f" means over {RANDOM} draws. The tasks of `harmony.budget` were chosen before anything was"
    " trained. The panel's families"
    " have helped to choose, so that chosen tasks look somewhat better than they are; `published_price` leaves each"
    " family out of that too."
)
COLUMNS = columns(
    ("text", "way"), ("number", "hours price tasks off ranks half coverage"), ("maybe", "chosen")
)


def choose(path: Path, asked: BudgetRequest) -> Choice:
    panel, families = _panel(path, asked)
    prices = pd.Series(asked.prices, dtype=float)
    tasks = in_turn(panel, prices, chosen(panel, prices, asked.hours))
    stderrs = _stderrs(panel, asked)
    found = expected(panel, tasks, families, stderrs)
    whole = expected(panel, list(prices.index), families, stderrs)
    cheap = expected(panel, cheapest(prices, asked.hours), families, stderrs)
    return Choice(
        tasks=tuple(tasks),
        looks=_looks(panel, families, tasks, asked),
        off=found.off,
        ranks=found.ranks,
        off_of_all=whole.off,
        ranks_of_all=whole.ranks,
        off_of_cheapest=cheap.off,
    )


def _looks(
    panel: pd.DataFrame, families: pd.Series, tasks: list[str], asked: BudgetRequest
) -> int | None:
    """After how many of the tasks the median of the panel's models is known to the half width at a look."""
    if asked.half_width is None:
        return None
    wider, stderrs = quantile(len(tasks)) / NORMAL, _stderrs(panel, asked)
    for look in range(1, len(tasks) + 1):
        if wider * expected(panel, tasks[:look], families, stderrs).half <= asked.half_width:
            return look
    return None


def _stderrs(panel: pd.DataFrame, asked: BudgetRequest) -> pd.Series:
    """By task the error that a usual score of the panel has on as many test items."""
    items, metrics = (
        pd.Series(asked.items, dtype=float),
        pd.Series(asked.metrics)[list(asked.items)],
    )
    usual, lowest = panel[items.index].mean(), lowest_of(metrics).fillna(0)
    return pd.Series(share_error(usual, items, lowest), index=items.index)


def _panel(path: Path, asked: BudgetRequest) -> tuple[pd.DataFrame, pd.Series]:
    """The panel, which must have each of the tasks and none of the models, and the families of its models."""
    panel, protocol = panel_of(path, asked.metrics)
    problems = []
    if protocol != frame.TRAINED:
        problems.append(
            f"harmony.panel {path} has scores under {protocol}; expected scores after training"
            f" ({frame.TRAINED}) with harmony.budget, which chooses what is trained."
        )
    if lacking := [task for task in asked.prices if task not in panel]:
        problems.append(
            f"harmony.tasks has {shown(lacking[0])}{_more(lacking)}, on which the panel {path}"
            " has no scores that differ;"
            f" expected tasks of the panel alone with harmony.budget{hint(lacking[0], panel.columns)}."
        )
    if placed := [name for name in asked.trained if name in panel.index]:
        problems.append(
            f"harmony.models has {shown(placed[0])}{_more(placed)}, of the panel {path}, whose place is known;"
            " expected models that the panel lacks with harmony.budget, or another harmony.panel."
        )
    if problems:
        raise UserError(problems)
    known = {row.model: row.family for row in asked.models}
    return panel, pd.Series(known, dtype=object).reindex(panel.index)


def _more(names: list[str]) -> str:
    return f" and {many(len(names) - 1, 'other')}" if len(names) > 1 else ""


def budget_curve(panel: pd.DataFrame, families: pd.Series, asked: BudgetRequest) -> pd.DataFrame:
    """A row for the choice and for all tasks, then for each way to choose and each share of the price of all."""
    prices = pd.Series(asked.prices, dtype=float)
    whole, generator = prices.sum(), np.random.default_rng(asked.seed)
    stderrs = _stderrs(panel, asked)

    def row(way: str, tasks: list[str]) -> dict[str, Any]:
        price = prices[tasks].sum()
        about = {"hours": price, "price": price / whole, "tasks": len(tasks)}
        found: Expected = expected(panel, tasks, families, stderrs)
        return {"way": way, **about, **found._asdict(), "chosen": " ".join(tasks)}

    rows = [row(PAID, chosen(panel, prices, asked.hours)), row(ALL, list(prices.index))]
    for budget in BUDGETS:
        ways = {CHOSEN: chosen(panel, prices, budget * whole)}
        ways[CHEAPEST] = cheapest(prices, budget * whole)
        rows += [row(way, tasks) for way, tasks in ways.items() if tasks]
        draws = (at_random(prices, budget * whole, generator) for _ in range(RANDOM))
        drawn = pd.DataFrame([row(DRAWN, tasks) for tasks in draws if tasks])
        if len(drawn):
            means = drawn.drop(columns=["way", "chosen"]).mean().to_dict()
            rows.append({"way": DRAWN, **means})
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _make(inputs: Inputs, asked: BudgetRequest) -> pd.DataFrame:
    return budget_curve(*_panel(inputs.one("panel"), asked), asked)


def _show(table: pd.DataFrame, asked: BudgetRequest) -> ShownColumns:
    return {
        "Tasks": table["way"].map(_WAYS),
        asked.unit: numbers(table["hours"], ".3g"),
        "Price (%)": percents(table["price"], ".1f"),
        "Number": numbers(table["tasks"], ".0f"),
        "Off": numbers(table["off"], ".0f"),
        "Ranks": numbers(table["ranks"], ".1f"),
        "Half width": numbers(table["half"], ".0f"),
        "Within": numbers(table["coverage"], ".2f"),
        "Which": tasks_named(table["chosen"], asked.names),
    }


TABLE = Table(
    name="harmony_budget",
    title="What a part of the trainings says about a model's place",
    note=NOTE,
    columns=COLUMNS,
    asks=BudgetRequest,
    make=_make,
    show=_show,
)


def write_budget(table: pd.DataFrame, asked: BudgetRequest, pdf: Path, png: Path) -> None:
    """A star for what was chosen."""
    with drawn_by_price(table, "off", _WAYS, pdf, png) as axes:
        paid = table[table["way"] == PAID]
        axes.plot(100 * paid["price"], paid["off"], "k*", markersize=11, label=_WAYS[PAID])
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"price, % of the {asked.unit} of training on all tasks")
        axes.set_ylabel("expected error of PC1")


FIGURE = Figure(
    name="harmony_budget", asks=BudgetRequest, draw=labels.drawn_from(TABLE, write_budget)
)
