"""Tabulate bits per byte of each text, as the models are and after training on it."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.ranking.frame import format_rows, make_title
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.texts import read_bits

_NOTE_OF_RUN = (
    "Of the last tenth of each text, in n windows; lower is better. After training: on the first eight"
    " tenths, the state chosen on the ninth."
)


def compute_bits(bits: pd.DataFrame, settings: GridSettings) -> pd.DataFrame:
    """Tabulate a row per text and model, those of fewest bits under the last protocol first."""
    grid = settings.grid
    # All cells of a protocol of texts may be broken.
    protocols = [
        key
        for key, protocol in grid.protocols.items()
        if key in {grid.baseline, *bits["protocol"]}
        or (protocol.after_training and not protocol.scores_of)
    ]
    cells = bits.groupby(["task", "label", "protocol"])
    wide = cells["value"].first().unstack().reindex(columns=protocols)
    wide.insert(0, "n", bits.groupby(["task", "label"])["n"].max())
    table = wide.rename_axis(index=["text", "model"], columns=None).reset_index()
    texts = pd.Index(grid.texts or table["text"].unique())
    table["place"] = texts.get_indexer(table["text"])
    table = table.sort_values(["place", protocols[-1], "model"], ignore_index=True)
    return table.drop(columns="place")


def main(texts: list[Path], table: list[Path], settings: dict[str, Any]) -> None:
    grid_settings = GridSettings.of(settings)
    grid = grid_settings.grid
    bits = compute_bits(read_bits(texts, grid_settings), grid_settings)
    note = f"Of {grid.about_texts}, as they were released; lower is better."
    if grid.lacking_texts:
        note += f" Left out: {grid.lacking_texts}."
    shown = {
        "Text": bits["text"].replace(grid.texts),
        "Model": "{model}",
        **{name: f"{{{key}:.3f}}" for key, name in grid.names.items() if key in bits},
        **({"n": "{n:.0f}"} if bits["n"].notna().any() else {}),
    }
    title = make_title("Bits per byte before and after training", grid_settings)
    note = _NOTE_OF_RUN if grid.run else note
    write_table(bits, table, title=title, note=note, shown=format_rows(bits, shown))


if "snakemake" in globals():
    run_job(main, snakemake)
