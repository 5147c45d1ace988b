"""Figure: the first component of each model beside its size: who does more with the same parameters."""

from pathlib import Path

import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from workflow_scripts.render.figures import figure_of, say_empty
from workflow_scripts.studies.harmony import labels
from workflow_scripts.studies.harmony.frame import OWN
from workflow_scripts.studies.harmony.leaderboard import TABLE

MANY = 25  # models, from which on their marks would hide one another


def write_pc1_by_size(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """One panel per protocol; families by colour and shape, instruct models hollow, chunked ones crosses."""
    table = table.dropna(subset=["pc1", "parameters"])
    table = table.assign(family=table["family"].fillna("other"))
    protocols = labels.shown_protocols(table)
    looks = labels.families(table)
    columns = max(len(protocols), 1)
    size = 1.0 + 3.9 * columns, 4.2
    with labels.drawing(pdf, png, *size, ncols=columns, squeeze=False) as (fig, (axes,)):
        if not protocols:
            say_empty(axes[0], "No model of known size has all tasks of a protocol.")
        for axis, protocol in zip(axes, protocols, strict=False):
            of = table[table["protocol"] == protocol]
            large = 6.5 if len(of) <= MANY else 5
            for family in [f for f in looks if f in set(table["family"])]:
                colour, marker = looks[family]
                mine = of[of["family"] == family].sort_values("parameters")
                for row in mine.itertuples():
                    hollow = row.kind == "instruct"
                    axis.plot(
                        row.parameters, row.pc1, "x" if row.variant else marker, color=colour,
                        markerfacecolor="none" if hollow else colour,
                        markersize=large if row.origin == OWN else 4,
                    )  # fmt: skip
            axis.set_xscale("log")
            wide = of["parameters"].max() > 30 * of["parameters"].min()
            axis.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
            axis.xaxis.set_major_formatter(FuncFormatter(_size))
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_xlabel("parameters")
            axis.set_title(labels.titles(table)[protocol], fontsize=9)
            labels.rule(axis, "both", "0.92")
        if protocols:
            axes[0].set_ylabel("PC1 (of each protocol's own scores)")
            _explain(fig, axes[0], looks, table)


def _size(parameters: float, _) -> str:
    for unit, name in ((1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:g}{name}"
    return f"{parameters / 1e3:g}K"


def _explain(fig, axis, looks: dict, table: pd.DataFrame) -> None:
    for family, (colour, marker) in looks.items():
        if family in set(table["family"]):
            axis.plot([], [], marker, color=colour, label=family)
    axis.plot([], [], "o", color="0.3", markerfacecolor="white", label="hollow: instruct")
    if (table["variant"] != "").any():
        axis.plot([], [], "x", color="0.3", label="cross: chunked, at its base's size")
    if (table["origin"] != OWN).any():
        axis.plot([], [], "o", color="0.3", markersize=4, label="small: imported scores")
    fig.legend(
        *axis.get_legend_handles_labels(), loc="outside lower center", ncols=3 * len(fig.axes)
    )


FIGURE = figure_of(TABLE, write_pc1_by_size, "harmony_pc1_by_size")
