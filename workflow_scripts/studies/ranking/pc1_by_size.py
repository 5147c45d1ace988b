"""Figure: the first component of each model beside its size: who does more with the same parameters."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import labels
from workflow_scripts.studies.ranking.frame import OWN
from workflow_scripts.studies.ranking.leaderboard import TABLE
from workflow_scripts.studies.ranking.rank_lines import CROWD
from workflow_scripts.studies.ranking.requests import GridWords

MANY = 25  # models, from which on their marks would hide one another
# What PC1 can be drawn against, by the column of the table: what the axis says of it.
PARAMETERS, COMPUTE = "parameters", "compute"
_ACROSS = {
    PARAMETERS: "parameters",
    COMPUTE: "FLOP of pre-training, 6 × parameters × tokens",
}


def write_pc1_by_size(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    write_pc1(table, (PARAMETERS,), request.grid, pdf, png)


def write_pc1(
    table: pd.DataFrame, across: Sequence[str], grid: GridFile, pdf: Path, png: Path
) -> None:
    """A column of panels per protocol, a row for each of `across`, numeric columns of the table.

    Families by colour and shape, instruct models hollow, chunked ones crosses. A model is left out of
    the panels for which its number is missing.
    """
    table = table.dropna(subset=["pc1"]).dropna(subset=list(across), how="all")
    table = table.assign(family=table["family"].fillna("other"))
    protocols = labels.shown_protocols(table, grid)
    titles, looks = labels.titles(table, grid), labels.families(table)
    columns = max(len(protocols), 1)
    size = 1.0 + 3.9 * columns, 1.0 + 3.2 * len(across)
    cells = {"ncols": columns, "nrows": len(across), "squeeze": False}
    with labels.drawing(pdf, png, *size, **cells) as (fig, panels):
        for axis in panels[:, 0] if not protocols else ():
            say_empty(axis, "No model of known size is ranked under a protocol.")
        for at, axes in enumerate(panels if protocols else ()):
            for axis, protocol in zip(axes, protocols, strict=True):
                _draw_panel(axis, table[table["protocol"] == protocol], across[at], looks)
                axis.set_title(titles[protocol] if at == 0 else "", fontsize=9)
            axes[0].set_ylabel("PC1 (of each protocol's own scores)")
        if protocols:
            _explain(fig, panels[0, 0], looks, table)


def _draw_panel(axis, rows: pd.DataFrame, across: str, looks: dict) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    rows = rows.dropna(subset=[across]).sort_values(across)
    large, crowd = 6.5 if len(rows) <= MANY else 5, len(rows) > CROWD
    alike = [
        rows["family"],
        rows["variant"] != "",
        rows["kind"] == "instruct",
        rows["origin"] == OWN,
    ]
    for (family, chunked, instruct, own), of in rows.groupby(alike, sort=False):
        colour, marker = looks[family]
        axis.plot(
            of[across], of["pc1"], "x" if chunked else marker, color=colour, linestyle="none",
            markerfacecolor="none" if instruct else colour, markersize=2.5 if crowd else large if own else 4,
            alpha=0.2 if crowd else None, rasterized=crowd,
        )  # fmt: skip
    axis.set_xscale("log")
    wide = rows[across].max() > 30 * rows[across].min()
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    if across == PARAMETERS:
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: labels.size(value)))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(_ACROSS[across])
    labels.rule(axis, "both", "0.92")


def _explain(fig, axis, looks: dict, table: pd.DataFrame) -> None:
    for family, (colour, marker) in looks.items():
        if family in set(table["family"]):
            axis.plot([], [], marker, color=colour, label=family)
    if (table["kind"] == "instruct").any():
        axis.plot([], [], "o", color="0.3", markerfacecolor="white", label="hollow: instruct")
    if (table["variant"] != "").any():
        axis.plot([], [], "x", color="0.3", label="cross: chunked, at its base's size")
    if (table["origin"] == OWN).any() and (table["origin"] != OWN).any():
        axis.plot([], [], "o", color="0.3", markersize=4, label="small: imported scores")
    columns = 4 * axis.get_gridspec().ncols
    legend_below(fig, axis, columns)


FIGURE = Figure(
    name="pc1_by_size", asks=GridWords, draw=labels.drawn_from(TABLE, write_pc1_by_size)
)
