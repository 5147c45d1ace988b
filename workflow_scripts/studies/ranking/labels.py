"""What the figures of a grid share: how protocols and models are called and coloured."""

from collections.abc import Callable, Iterator

import pandas as pd

from workflow_scripts.render.figures import PALETTE
from workflow_scripts.render.figures import drawing as drawing
from workflow_scripts.render.figures import rule as rule
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import number
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import frame

_AS_THEY_ARE = ((PALETTE[1], "o"), (PALETTE[2], "^"), (PALETTE[6], "P"))
_TRAINED = ((PALETTE[0], "s"), (PALETTE[3], "D"), (PALETTE[4], "v"))
IMPORTED = "*"
MARK_NOTE = f"{IMPORTED} imported scores"


def drawn_from(table: Table, write: Callable[..., None]) -> Callable[..., None]:
    """How a figure of one table is drawn: `write` is given that table, the request and both files."""
    return lambda inputs, request, pdf, png: write(
        table.read(inputs.one("table")), request, pdf, png
    )


def reach(values: pd.Series, low: pd.Series, high: pd.Series) -> list[pd.Series]:
    """How far an interval goes down and up; not at all where there is none."""
    return [side.clip(lower=0).fillna(0) for side in (values - low, high - values)]


def said_mean(row: pd.Series) -> str:
    """Below a title: a mean agreement with its interval; nothing where none is known."""
    value, low, high = (number(row[name]) for name in ("value", "families_low", "families_high"))
    return f"\nmean agreement {value}\n({low} to {high} over {row['of']})" if low and high else ""


def interval_over(table: pd.DataFrame) -> str:
    """What the intervals of a figure are over, which its table says row by row."""
    over = list(dict.fromkeys(table["of"].dropna()))
    return f"with its 95% interval over {' or '.join(over)}" if over else "without an interval"


def shown_protocols(table: pd.DataFrame, grid: GridFile) -> list[str]:
    """Those of the table that figures show, in the order of the grid."""
    found = set(table["protocol"])
    return [protocol for protocol in grid.drawn if protocol in found]


def titles(table: pd.DataFrame, grid: GridFile) -> dict[str, str]:
    """Each protocol's name; in the grid of a run with what kind of scores it shows after training."""
    if not grid.run:
        return grid.names
    column = "origins" if "origins" in table else "origin"
    found = {}
    for protocol, rows in table.groupby("protocol"):
        origins = {name for cell in rows[column] for name in cell.split()}
        kind = (
            "raw" if origins <= {frame.OWN} else "ours raw" if frame.OWN in origins else "imported"
        )
        trained = grid.protocols[protocol].after_training
        found[protocol] = grid.names[protocol] + (f" ({kind} scores)" if trained else "")
    return found


def beside(
    table: pd.DataFrame, grid: GridFile, gap: float
) -> Iterator[tuple[str, pd.DataFrame, float, dict]]:
    """Each shown protocol, its rows, how far beside its line they stand, and how they are drawn."""
    protocols, said = shown_protocols(table, grid), titles(table, grid)
    for at, protocol in enumerate(protocols):
        colour, marker = look_of(protocol, grid)
        look = {"fmt": marker, "markersize": 4.5, "color": colour, "label": said[protocol]}
        shift = (at - (len(protocols) - 1) / 2) * gap
        yield protocol, table[table["protocol"] == protocol], shift, look


def look_of(protocol: str, grid: GridFile) -> tuple[str, str]:
    """Colour and marker, by whether models were trained and how many protocols like it stand before it."""
    trained = grid.protocols[protocol].after_training
    alike = [key for key in grid.drawn if grid.protocols[key].after_training == trained]
    looks = _TRAINED if trained else _AS_THEY_ARE
    return looks[alike.index(protocol) % len(looks)]


def size(parameters: float) -> str:
    """5B, 312M or 76K."""
    for unit, name in ((1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:.3g}{name}"
    return f"{parameters / 1e3:.3g}K"


def short_names(table: pd.DataFrame) -> pd.Series:
    """Models without their organisation; those with imported scores marked, where ours stand beside them."""
    names = table["model"].str.split("/").str[-1] + table["variant"]
    own = table["origin"] == frame.OWN
    return names.where(own, names + IMPORTED) if own.any() else names


def families(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Colour and marker of each family, no two alike of up to 49; models that the models table lacks are 'other'."""
    shapes = "osD^vPX"
    known = {
        name: (PALETTE[at % len(PALETTE)], shapes[(at + at // len(PALETTE)) % len(shapes)])
        for at, name in enumerate(sorted(set(table["family"].dropna())))
    }
    return known | {"other": ("0.6", "h")}
