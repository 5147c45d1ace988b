"""Figure: how the ranking changes from direct evaluation to train-before-test, and how sure each rank is."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.studies.ranking import labels
from workflow_scripts.studies.ranking.leaderboard import TABLE
from workflow_scripts.studies.ranking.rank_lines import (
    NAMED,
    are_named,
    draw_lines,
    draw_range,
    fineness,
)
from workflow_scripts.studies.ranking.requests import GridWords

SHADED = 20  # models; the ranges of more would be one fog


def write_bump(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """One column per protocol, best on top; a line per model, strong where its ranges of ranks do not meet."""
    table = table.dropna(subset=["rank"])
    table = table.assign(name=labels.short_names(table), family=table["family"].fillna("other"))
    protocols, said = (
        labels.shown_protocols(table, request.grid),
        labels.titles(table, request.grid),
    )
    table = table[table["protocol"].isin(protocols)]
    looks = labels.families(table)
    most = int(table["rank"].max()) if len(table) else 8
    size = 3.2 + 2.6 * max(len(protocols), 1), 1.6 + 0.17 * min(max(most, 8), NAMED)
    with labels.drawing(pdf, png, *size) as (fig, axes):
        if not protocols:
            say_empty(axes, "Fewer than two models are ranked under a protocol.")
            return
        ranks, low, high = (
            table.pivot(index="label", columns="protocol", values=column)[protocols].to_numpy(float)
            for column in ("rank", "rank_low", "rank_high")
        )
        families = table.groupby("label", sort=True)["family"].first()
        colours = np.array([to_rgb(looks[family][0]) for family in families])
        for at in range(len(protocols) - 1 if most <= SHADED else 0):
            for model, colour in enumerate(colours):
                ends = low[model, at : at + 2], high[model, at : at + 2]
                axes.fill_between((at, at + 1), *ends, color=colour, alpha=0.07, linewidth=0)
        draw_lines(axes, ranks, low, high, colours)
        for at in range(len(protocols)):
            # Beside one another, or the ranges of neighbours would be one bar.
            beside = at + ((ranks[:, at] - 1) % 9 - 4) * 0.014
            width = 1.2 if most <= SHADED else 0.8
            draw_range(axes, beside, low[:, at], high[:, at], colours, alpha=0.8, width=width)
        _name_models(axes, table[table["protocol"] == protocols[0]], looks, -0.09, "right")
        if len(protocols) > 1:
            of_last = table[table["protocol"] == protocols[-1]]
            _name_models(axes, of_last, looks, len(protocols) - 1 + 0.09, "left")
        axes.set_xticks(range(len(protocols)), [said[p] for p in protocols])
        axes.xaxis.tick_top()
        axes.set_xlim(-0.75, len(protocols) - 0.25 if len(protocols) > 1 else 0.3)
        axes.set_ylim(most + 0.7, 1 - 0.7 / fineness(most))
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        for family in [f for f in looks if f in set(table["family"])]:
            axes.plot([], [], "o-", color=looks[family][0], label=family)
        if table["name"].str.endswith(labels.IMPORTED).any():
            axes.plot([], [], " ", label=labels.MARK_NOTE)
        legend_below(fig, axes, 4)


def _name_models(axes, rows: pd.DataFrame, looks: dict, across: float, side: str) -> None:
    """Equal ranks would lie on one another: they share one label; of very many models some have one."""
    size = 8 if rows["rank"].max() <= SHADED else 6.5
    for rank, tied in rows[are_named(rows["rank"].to_numpy())].groupby("rank"):
        names = ", ".join(tied["name"])
        text = f"{names} {rank:.0f}" if side == "right" else f"{rank:.0f} {names}"
        colour = looks[tied["family"].iloc[0]][0]
        axes.text(across, rank, text, ha=side, va="center", fontsize=size, color=colour)


FIGURE = Figure(name="bump", asks=GridWords, draw=labels.drawn_from(TABLE, write_bump))
