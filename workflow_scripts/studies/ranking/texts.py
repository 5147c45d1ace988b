"""Read bits per byte of texts under each protocol: those of one's own, or among the scores of a grid."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.scores.imported import BITS, read_imported
from workflow_scripts.studies.ranking.grid_settings import GridSettings


def read_bits(paths: Sequence[Path], settings: GridSettings) -> pd.DataFrame:
    """Read a row for each text, model (its label) and protocol of figures."""
    grid = settings.grid
    if grid.run:
        scores = pd.concat(map(pd.read_parquet, paths))
    else:
        scores = pd.concat(
            read_imported(path, settings.metrics, list(grid.protocols), others=True)
            for path in paths
        )
    bits = scores[(scores["metric"] == BITS) & scores["protocol"].isin(grid.drawn)]
    label = bits["model"] + bits["variant"].fillna("")
    return bits.assign(label=label, value=bits["value"].astype(float))


def pivot_bits(bits: pd.DataFrame, settings: GridSettings) -> dict[str, pd.DataFrame]:
    """Pivot to the bits per byte of each text (columns) under each model (rows), by protocol."""
    tables = {}
    for protocol in settings.grid.drawn:
        rows = bits[bits["protocol"] == protocol]
        if len(rows):
            wide = rows.pivot(index="label", columns="task", values="value")
            tables[protocol] = wide[list(settings.grid.texts or wide)]
    return tables
