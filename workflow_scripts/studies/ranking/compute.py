"""The first component of a grid's scores beside the size of the models and the compute behind them."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_placeholder, drawing, rule, set_log_axis
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import number, numbers
from workflow_scripts.stats.ranks import ranks
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.leaderboard import compute_pc1

OPERATIONS = 6  # of pre-training, for each parameter and token
_NOTE = (
    "PC1: 100 times the first principal component of the standardised scores{floored};"
    f" each protocol has its own. Compute: {OPERATIONS} × parameters × tokens of pre-training; of some models the"
    f" tokens are not known. {frame.ESTIMATED}: some of the model's scores are estimated from the others."
)
_ACROSS = {"parameters": "parameters", "compute": "FLOP of pre-training, 6 × parameters × tokens"}
_COLUMNS = ["protocol", "model", "variant", "origin", "family", "kind", "parameters"]
_COLUMNS += ["parameters_billion", "tokens_billion", "compute", "pc1", "rank", "filled"]


def count_operations(models: pd.DataFrame) -> pd.Series:
    """Count the floating-point operations of pre-training, by the size that the grid's own file says, if any."""
    of_file = "parameters_billion" in models
    parameters = models["parameters_billion"] * 1e9 if of_file else models["parameters"]
    return OPERATIONS * parameters * models["tokens_billion"] * 1e9


def compute_sizes(grids: dict[str, Grid]) -> pd.DataFrame:
    """One row per protocol and ranked model, best first; compute is missing where tokens are not known."""
    found = []
    for protocol, grid in grids.items():
        pc1 = compute_pc1(grid)
        table = grid.models.loc[pc1.index].assign(protocol=protocol, pc1=pc1, rank=ranks(pc1))
        table["filled"] = grid.completed.filled.sum(axis=1)
        table["compute"] = count_operations(table)
        found.append(table.reindex(columns=_COLUMNS).sort_values("rank"))
    return pd.concat(found, ignore_index=True)


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    marked = table["filled"].map(lambda filled: frame.ESTIMATED if filled else "")
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Rank": table["rank"].map("{:.0f}".format) + marked,
        "Model": table["model"] + table["variant"],
        "PC1": numbers(table["pc1"], ".2f"),
        "Parameters": numbers(table["parameters"], ",.0f"),
        "Tokens (billion)": numbers(table["tokens_billion"], ",.0f"),
        "Compute (FLOP)": [number(value, ".3g") for value in table["compute"]],
    }


def plot_sizes(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a column of panels per protocol, a row for parameters and one for compute.

    Families by colour and shape, instruct models hollow. A model is left out of the panels for which its number is
    missing.
    """
    table = table.dropna(subset=["pc1"]).dropna(subset=list(_ACROSS), how="all")
    table = table.assign(family=table["family"].fillna("other"), name="")
    protocols, looks = plots.shown_protocols(table, settings.grid), plots.color_families(table)
    columns = max(len(protocols), 1)
    panels = {"ncols": columns, "nrows": len(_ACROSS), "squeeze": False}
    size = 1.0 + 3.9 * columns, 1.0 + 3.2 * len(_ACROSS)
    with drawing(files, *size, **panels) as (fig, axes):
        if not protocols:
            draw_placeholder(axes[0, 0], "No model of known size is ranked under a protocol.")
            return
        for row, (across, label) in zip(axes, _ACROSS.items(), strict=True):
            row[0].set_ylabel("PC1 (of each protocol's own scores)")
            for axis, protocol in zip(row, protocols, strict=True):
                rows = table[table["protocol"] == protocol].dropna(subset=[across])
                for (family, kind), of in rows.groupby(["family", "kind"], dropna=False):
                    colour, marker = looks[family]
                    face = "none" if kind == "instruct" else colour
                    axis.plot(of[across], of["pc1"], marker, color=colour, markerfacecolor=face)
                set_log_axis(axis, plots.format_size if across == "parameters" else None)
                axis.set_xlabel(label)
                rule(axis, "both", "0.92")
        for axis, protocol in zip(axes[0], protocols, strict=True):
            axis.set_title(settings.grid.names[protocol], fontsize=9)
        axes[0, 0].plot([], [], "o", color="0.3", markerfacecolor="none", label="hollow: instruct")
        plots.explain_families(fig, axes[0, 0], table, looks, 4 * columns)


def main(
    cells: Path, models: Path, table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    of_grid = GridSettings.of(settings)
    sizes = compute_sizes(read_grids(cells, models))
    title = frame.make_title("The first component, parameters and compute", of_grid)
    note = _NOTE.format(floored=of_grid.grid.floor_note)
    write_table(sizes, table, title=title, note=note, shown=format_columns(sizes, of_grid))
    plot_sizes(sizes, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
