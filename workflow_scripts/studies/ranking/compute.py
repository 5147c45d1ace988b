"""Tabulate the first component of a grid's scores with the size and pre-training compute of the models."""

from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_grid_lines, set_log_axis
from workflow_scripts.stats.ranks import rank_values
from workflow_scripts.studies.ranking import grid_tables, plots
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.leaderboard import compute_pc1

OPERATIONS = 6  # pre-training FLOP per parameter and token
_NOTE = (
    "PC1: 100 times the first principal component of the standardised scores{clipped};"
    f" each protocol has its own. Compute: {OPERATIONS} × parameters × tokens of pre-training; of some models the"
    f" tokens are not known. {grid_tables.ESTIMATED_MARK}: some of the model's scores are estimated from the others."
)
# The columns on the x axes, with their labels.
_X_LABELS = {"parameters": "parameters", "compute": "FLOP of pre-training, 6 × parameters × tokens"}
_COLUMNS = ["protocol", "model", "variant", "origin", "family", "kind", "parameters"]
_COLUMNS += ["parameters_billion", "tokens_billion", "compute", "pc1", "rank", "filled"]


def count_operations(models: pd.DataFrame) -> pd.Series:
    """Compute the FLOP of pre-training, with the parameters from the grid's own file if it has them."""
    in_file = "parameters_billion" in models
    parameters = models["parameters_billion"] * 1e9 if in_file else models["parameters"]
    return OPERATIONS * parameters * models["tokens_billion"] * 1e9


def compute_sizes(grids: Grids) -> pd.DataFrame:
    """Compute one row per protocol and ranked model, best first; compute is missing if the tokens are unknown."""
    tables = []
    for protocol, grid in grids.items():
        pc1 = compute_pc1(grid)
        table = grid.models.loc[pc1.index].assign(protocol=protocol, pc1=pc1, rank=rank_values(pc1))
        table["filled"] = grid.completed.filled.sum(axis=1)
        table["compute"] = count_operations(table)
        tables.append(table.reindex(columns=_COLUMNS).sort_values("rank"))
    return pd.concat(tables, ignore_index=True)


def plot_sizes(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot PC1 over parameters (top) and compute (bottom), with a column of panels per protocol.

    Colour and marker show the family; instruct models are hollow.
    """
    table = table.dropna(subset=list(_X_LABELS), how="all").fillna({"family": "other"})
    protocols = plots.list_protocols(table, settings)
    styles = plots.assign_styles(sorted(set(table["family"])))
    placeholder = "No model of known size is ranked under a protocol."
    with plots.draw_panels(files, protocols, 3.9, 7.4, placeholder, nrows=2) as (fig, axes):
        for row, (column, label) in zip(axes, _X_LABELS.items(), strict=True):
            row[0].set_ylabel("PC1 (of each protocol's own scores)")
            for axis, protocol in zip(row, protocols, strict=False):
                rows = table[table["protocol"] == protocol].dropna(subset=[column])
                for (family, kind), group in rows.groupby(["family", "kind"], dropna=False):
                    colour, marker = styles[family]
                    face = "none" if kind == "instruct" else colour
                    points = group[column], group["pc1"], marker
                    axis.plot(*points, color=colour, markerfacecolor=face)
                set_log_axis(axis, plots.format_size if column == "parameters" else None)
                axis.set_xlabel(label)
                title = f"{settings.protocol_names[protocol]}, {len(rows)} models"
                axis.set_title(title, fontsize=9)
                draw_grid_lines(axis, "both", color="0.92")
        if protocols:
            first = axes[0, 0]
            first.plot([], [], "o", color="0.3", markerfacecolor="none", label="hollow: instruct")
            plots.draw_style_legend(fig, first, styles, 8)


@validate_call
def main(grid: Path, table: list[Path], figure: list[Path], settings: GridSettings) -> None:
    sizes = compute_sizes(read_grids(grid))
    marks = sizes["filled"].map(lambda filled: grid_tables.ESTIMATED_MARK if filled else "")
    shown: dict[str, Any] = {
        "Protocol": "{protocol}",
        "Rank": sizes["rank"].map("{:.0f}".format) + marks,
        "Model": "{model}{variant}",
        "PC1": "{pc1:.2f}",
        "Parameters": "{parameters:,.0f}",
        "Tokens (billion)": "{tokens_billion:,.0f}",
        "Compute (FLOP)": "{compute:.3g}",
    }
    title = "The first component, parameters and compute"
    note = _NOTE.format(clipped=settings.clip_note)
    grid_tables.write_grid_table(sizes, table, settings, title=title, note=note, shown=shown)
    plot_sizes(sizes, settings, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
