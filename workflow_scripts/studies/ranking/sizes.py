"""The first component of a grid's scores beside the size of the models and the compute behind them."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import number, numbers
from workflow_scripts.stats.ranks import ranks
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.labels import drawn_from
from workflow_scripts.studies.ranking.leaderboard import first_component
from workflow_scripts.studies.ranking.pc1_by_compute import OPERATIONS, compute
from workflow_scripts.studies.ranking.pc1_by_size import COMPUTE, PARAMETERS, write_pc1
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords

COLUMNS = columns(
    ("text", "protocol model variant origin family kind"),
    ("whole", "parameters"),
    ("number", "parameters_billion tokens_billion compute pc1"),
    ("whole", "rank filled"),
)


def sizes(grids: dict[str, Grid]) -> pd.DataFrame:
    """One row per protocol and ranked model, best first; compute is missing where tokens are not known."""
    found = []
    for protocol, grid in grids.items():
        pc1 = first_component(grid)
        table = grid.models.loc[pc1.index].reindex(columns=list(COLUMNS.named))
        table = table.assign(protocol=protocol, pc1=pc1, rank=ranks(pc1))
        table["filled"] = grid.completed.filled.sum(axis=1)
        table["compute"] = compute(table["parameters_billion"] * 1e9, table["tokens_billion"])
        found.append(table.sort_values("rank"))
    return COLUMNS.typed(pd.concat(found))


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Rank": [
            f"{rank}{frame.ESTIMATED if filled else ''}"
            for rank, filled in zip(table["rank"], table["filled"], strict=True)
        ],
        "Model": table["model"],
        "PC1": numbers(table["pc1"], ".2f"),
        "Parameters": numbers(table["parameters"], ",d"),
        "Tokens (billion)": numbers(table["tokens_billion"], ",.0f"),
        "Compute (FLOP)": [number(value, ".3g") for value in table["compute"]],
    }


def _note(table: pd.DataFrame, request: GridRequest) -> str:
    known = table.loc[table["compute"].notna(), "model"].nunique()
    return (
        f"PC1: 100 times the first principal component of the standardised {request.grid.called} of"
        f" {table['model'].nunique()} models on {len(request.tasks)} tasks{request.grid.floor_said};"
        f" each protocol has its own. Compute: {OPERATIONS} × parameters × tokens of pre-training, both"
        f" as the authors give them for {known} of the models; the others' tokens are not known."
        + (
            f" {frame.ESTIMATED}: some of the model's scores are estimated from the others."
            if table["filled"].any()
            else ""
        )
    )


TABLE = Table(
    name="sizes",
    title=frame.titled(
        "The first component, parameters and compute",
        "the first component, parameters and compute",
    ),
    note=_note,
    columns=COLUMNS,
    asks=GridRequest,
    make=lambda inputs, request: sizes(read_grids(inputs, request)),
    show=_show,
)


def write_sizes(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    write_pc1(table, (PARAMETERS, COMPUTE), request.grid, pdf, png)


FIGURE = Figure(name="sizes", asks=GridWords, draw=drawn_from(TABLE, write_sizes))
