"""harmony.stop: what is known of the models after each task that they were trained on, and whether it is enough."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.files import write_sealed
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import intervals, number, numbers, percents
from workflow_scripts.scores.panel import panel_of
from workflow_scripts.stats.looks import first_apart, places
from workflow_scripts.studies.harmony.budget_requests import LooksRequest
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import read_grids

NOTE = (
    "What is known after each task. Price: of training on the tasks so far, as a share of all tasks. PC1 on the panel"
    " and its interval, which with 95% probability holds at every look at once: the {most} looks that the budget"
    " pays for share the risk, so that stopping at any of them leaves it as it is. "
)
COLUMNS = columns(
    ("whole", "look"),
    ("text", "task"),
    ("number", "price"),
    ("text", "model"),
    ("number", "pc1 low high"),
    ("text", "above"),
    ("whole", "enough"),
)


def looks(
    scores: pd.DataFrame, stderrs: pd.DataFrame, panel: pd.DataFrame, asked: LooksRequest
) -> pd.DataFrame:
    """A row for each look and model; `enough` says of the look whether training may stop."""
    families = pd.Series({row.model: row.family for row in asked.models}, dtype=object)
    known = places(panel, families, scores, stderrs, asked.turn, asked.most)
    apart = first_apart(known, asked.order, asked.most)
    pairs = len(asked.order) * (len(asked.order) - 1) // 2
    price = pd.Series(asked.prices).reindex(list(asked.turn)).cumsum() / sum(asked.prices.values())

    def above(model: str, look: int) -> str:
        """The models that it has been told apart from by then, as the better one."""
        return " ".join(name for name in asked.order if apart.get((model, name), look + 1) <= look)

    def enough(rows: pd.DataFrame) -> bool:
        if asked.half_width is None:
            return sum(at <= rows["look"].iloc[0] for at in apart.values()) == pairs
        half = (rows["high"] - rows["low"]) / 2
        return len(rows) == len(scores) and bool(half.between(0, asked.half_width).all())

    reached = {look: enough(rows) for look, rows in known.groupby("look")}
    table = known.assign(
        task=known["look"].map(lambda look: asked.turn[look - 1]),
        price=known["look"].map(lambda look: price.iloc[look - 1]),
        above=[above(row.model, row.look) for row in known.itertuples()],
        enough=known["look"].map(reached).astype(int),
    )
    return COLUMNS.typed(table)


def _make(inputs: Inputs, asked: LooksRequest) -> pd.DataFrame:
    panel = panel_of(inputs.one("panel"), asked.metrics).scores
    grid = read_grids(inputs, asked)[frame.TRAINED]
    own = grid.models.index[grid.models["origin"] == frame.OWN]
    return looks(grid.values.loc[own], grid.stderrs.loc[own], panel, asked)


def is_enough(table: pd.DataFrame) -> bool:
    return len(table) > 0 and bool(table["enough"].iloc[-1])


def _note(table: pd.DataFrame, asked: LooksRequest) -> str:
    wanted = (
        f"The PC1 of every model is wanted to {asked.half_width:g} on either side"
        if asked.half_width
        else "Which of the models is above which is wanted"
    )
    if is_enough(table):
        verdict = "and known: no more is trained"
    elif len(asked.turn) < asked.most:
        verdict = "and not known yet: the same command trains on the next task"
    else:
        verdict = "and not known from all that the budget pays for"
    return f"{NOTE.format(most=asked.most)}{wanted}, {verdict}."


def _show(table: pd.DataFrame, asked: LooksRequest) -> ShownColumns:
    shown = {
        "Task": table["task"].map(asked.names),
        "Price (%)": percents(table["price"], ".1f"),
        "Model": table["model"],
        "PC1": numbers(table["pc1"], ".0f"),
        "Interval": intervals(table["low"], table["high"], lambda end: number(end, ".0f")),
        "Above": [cell.replace(" ", ", ") for cell in table["above"]],
    }
    if not asked.order:
        del shown["Above"]
    return shown


TABLE = Table(
    name="harmony_looks",
    title="What is known after each task",
    note=_note,
    columns=COLUMNS,
    asks=LooksRequest,
    make=_make,
    show=_show,
)


def write_look(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    """What the next command reads: of which choice this is a look, and whether it was enough."""
    enough = is_enough(TABLE.read(inputs.one("looks")))
    write_sealed(outputs["look"], {"made_of": request["made_of"], "enough": enough})
