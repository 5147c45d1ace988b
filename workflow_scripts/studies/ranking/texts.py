"""Bits per byte of texts under each protocol: those of one's own, or among the scores of a grid."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_scripts.scores.imported import BITS, read_imported
from workflow_scripts.studies.ranking.grid_settings import GridSettings


def read_bits(paths: Sequence[Path], settings: GridSettings) -> pd.DataFrame:
    """Read a row for each text, model (its label) and protocol of figures."""
    grid = settings.grid
    scores = pd.concat(
        [
            pd.read_parquet(path)
            if path.suffix == ".parquet"
            else read_imported(path, settings.metrics, list(grid.protocols), others=True)
            for path in paths
        ]
    )
    bits = scores[(scores["metric"] == BITS) & scores["protocol"].isin(grid.drawn)]
    return bits.assign(
        label=bits["model"] + bits["variant"].fillna(""), value=bits["value"].astype(float)
    )


def pivot_bits(bits: pd.DataFrame, settings: GridSettings) -> dict[str, pd.DataFrame]:
    """By protocol, the bits per byte of each text (columns) under each model (rows)."""
    found = {}
    for protocol in settings.grid.drawn:
        of = bits[bits["protocol"] == protocol]
        if len(of):
            wide = of.pivot(index="label", columns="task", values="value")
            found[protocol] = wide[list(settings.grid.texts or wide)]
    return found
