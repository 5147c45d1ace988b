"""Compare how two texts rank the models by their bits per byte, under each protocol."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import write_table
from workflow_scripts.stats.agreement import compute_cross_agreement
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.plots import pivot_pairs, plot_heat_maps
from workflow_scripts.studies.ranking.texts import pivot_bits, read_bits

_NOTE = (
    "How alike two texts rank the models by their bits per byte, over the models that have both:"
    " Kendall's tau-b of the rankings, and Pearson's r of the bits."
)


def compare_text_pairs(bits: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare each two texts under each protocol; `value` is Kendall's tau-b."""
    rows = []
    for protocol, wide in bits.items():
        measures = compute_cross_agreement(wide, wide)
        for pair in combinations(wide, 2):
            rows.append((protocol, *pair, *(matrix.at[pair] for matrix in measures)))
    columns = ["protocol", "first", "second", "value", "pearson", "models"]
    return pd.DataFrame(rows, columns=columns)


def main(
    texts: list[Path], table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    grid_settings = GridSettings.of(settings)
    grid = grid_settings.grid
    pairs = compare_text_pairs(pivot_bits(read_bits(texts, grid_settings), grid_settings))
    shown = {
        "Protocol": pairs["protocol"].map(grid.names),
        "Texts": pairs["first"].replace(grid.texts) + " and " + pairs["second"].replace(grid.texts),
        "Kendall's tau-b": "{value:.3f}",
        "Pearson's r": "{pearson:.3f}",
        "Models": "{models:.0f}",
    }
    title = frame.make_title("Agreement of texts about models", grid_settings)
    write_table(pairs, table, title=title, note=_NOTE, shown=frame.format_rows(pairs, shown))
    compared = dict.fromkeys([*pairs["first"], *pairs["second"]])
    names = {text: grid.texts.get(text, text).replace(" ", "\n") for text in compared}
    label = "Kendall's tau-b of the rankings by bits per byte of two texts"
    plot_heat_maps(pivot_pairs(pairs, grid.names, grid, names), figure, label)


if "snakemake" in globals():
    run_job(main, snakemake)
