"""Agreement of tasks as pictures: every pair of tasks, and every pair of categories."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import figure, save_both, say_empty
from workflow_scripts.studies.harmony.agreement import CATEGORY, MEAN, PAIR
from workflow_scripts.studies.harmony.labels import shown_protocols, titles

_COLOURS = (
    "RdBu"  # red for opposite, white for unrelated, blue for equal rankings; safe for all eyes
)
_LABEL = "Kendall's tau-b of the two rankings of models"


def write_harmony_matrices(table: pd.DataFrame, tasks: list[dict], pdf: Path, png: Path) -> None:
    """One matrix per protocol, side by side, tasks in the order of their categories."""
    categories = list(dict.fromkeys(row["category"] for row in tasks))
    ordered = sorted(tasks, key=lambda row: categories.index(row["category"]))
    pairs = table[table["statistic"] == PAIR]
    seen = set(pairs["first"]) | set(pairs["second"])
    ordered = [row for row in ordered if row["task"] in seen]
    names = {row["task"]: row["display_name"] for row in ordered}
    borders = [
        at
        for at in range(1, len(ordered))
        if ordered[at]["category"] != ordered[at - 1]["category"]
    ]
    _write(table, PAIR, names, borders, 0.27, pdf, png)


def write_harmony_categories(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """One matrix of categories per protocol: on the diagonal the agreement within each."""
    rows = table[table["statistic"] == CATEGORY]
    names = dict.fromkeys([*rows["first"], *rows["second"]])
    _write(
        table, CATEGORY, {name: name.replace(" ", "\n", 1) for name in names}, [], 0.62, pdf, png
    )


def _write(
    table: pd.DataFrame,
    statistic: str,
    names: dict[str, str],
    borders: list[int],
    cell: float,
    pdf: Path,
    png: Path,
) -> None:
    rows = table[table["statistic"] == statistic]
    protocols = shown_protocols(rows)
    side = max(cell * len(names), 2.2)
    columns = max(len(protocols), 1)
    width, height = 1.6 + (side + 0.3) * columns, side + 2.6
    grid = {"ncols": columns, "squeeze": False, "sharey": True}
    with figure(width, height, layout="compressed", **grid) as (fig, (axes,)):
        if not protocols:
            say_empty(axes[0], "No two tasks have scores of the same models.")
        for axis, protocol in zip(axes, protocols, strict=bool(protocols)):
            values = _square(rows[rows["protocol"] == protocol], list(names))
            if statistic == CATEGORY:
                diagonal = np.diag(_square(rows[rows["protocol"] == protocol], list(names), True))
                np.fill_diagonal(values, diagonal)
            mesh = axis.pcolormesh(
                values, cmap=_COLOURS, vmin=-1, vmax=1, edgecolors="white", linewidth=0.5
            )
            _write_numbers(axis, values, small=len(names) > 12, diagonal=statistic == CATEGORY)
            for at in borders:
                axis.axhline(at, color="black", linewidth=0.6)
                axis.axvline(at, color="black", linewidth=0.6)
            ticks = np.arange(len(names)) + 0.5
            axis.set_xticks(ticks, names.values(), rotation=90 if cell < 0.5 else 0, fontsize=7)
            axis.set_yticks(ticks, names.values(), fontsize=7)
            axis.set_ylim(len(names), 0)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            axis.set_aspect("equal")
            mean = table[(table["statistic"] == MEAN) & (table["protocol"] == protocol)]["value"]
            said = "" if mean.isna().all() else f"\nmean agreement {mean.iloc[0]:.2f}"
            axis.set_title(titles(rows)[protocol] + said, fontsize=9)
        if protocols:
            bar = fig.colorbar(mesh, ax=list(axes), location="bottom", aspect=50, shrink=0.6)
            bar.set_label(_LABEL)
            bar.outline.set_visible(False)
        save_both(fig, pdf, png)


def _square(rows: pd.DataFrame, names: list[str], diagonal: bool = False) -> np.ndarray:
    values = np.full((len(names), len(names)), np.nan)
    at = {name: place for place, name in enumerate(names)}
    for row in rows.itertuples():
        if diagonal or row.first != row.second:
            values[at[row.first], at[row.second]] = values[at[row.second], at[row.first]] = (
                row.value
            )
    return values


def _write_numbers(axis, values: np.ndarray, *, small: bool, diagonal: bool) -> None:
    """Two decimals in each cell, on dark cells in white; a dash where there is no number."""
    for (down, across), value in np.ndenumerate(values):
        if np.isnan(value):
            text = "" if down == across and not diagonal else "–"
        else:
            text = f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
        colour = "white" if abs(value) > 0.6 else "black"
        axis.text(across + 0.5, down + 0.5, text, ha="center", va="center", color=colour,
                  fontsize=5.5 if small else 7.5)  # fmt: skip
