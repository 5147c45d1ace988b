"""Tabulate bits per byte of texts, and compare the rankings of models by a text and by a task."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.scores.imported import BITS_PER_BYTE
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.stats.agreement import compute_cross_agreement
from workflow_scripts.studies.ranking.build_grid import read_score_files
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import write_grid_table

_COLUMNS = ["panel", "text", "task", "kendall", "pearson", "models"]
_RUN_NOTE = (
    "Of the last tenth of each text, in n windows; lower is better. After training: on the first eight"
    " tenths, the state chosen on the ninth."
)
_AGREEMENT_NOTE = (
    "Agreement of the bits per byte of texts with the scores on each task, over the models that have both:"
    " Kendall's tau-b and Pearson's r, positive where fewer bits go with higher scores. A line without a task is"
    " the mean over the tasks."
)


def read_bits(paths: Sequence[Path], settings: GridSettings) -> pd.DataFrame:
    """Read one row per text, model label and protocol shown in figures."""
    scores = read_score_files(paths, settings)
    is_plotted = scores["protocol"].isin(settings.plotted_protocols)
    bits = scores[(scores["metric"] == BITS_PER_BYTE) & is_plotted]
    label = bits["model"] + bits["variant"].fillna("")
    return bits.assign(label=label, value=bits["value"].astype(float))


def pivot_bits(bits: pd.DataFrame, settings: GridSettings) -> dict[str, pd.DataFrame]:
    """Pivot to one matrix of bits per byte per protocol, with models in rows and texts in columns."""
    wide = bits.pivot(index="label", columns=["protocol", "task"], values="value")
    return {
        protocol: wide[protocol][list(settings.texts or wide[protocol])].dropna(how="all")
        for protocol in settings.plotted_protocols
        if protocol in wide
    }


def compute_bits(bits: pd.DataFrame, settings: GridSettings) -> pd.DataFrame:
    """Tabulate one row per text and model, with a column per protocol, sorted by the last protocol."""
    present = {settings.reference_protocol, *bits["protocol"]}
    protocols = [key for key in settings.protocols if key in present]
    cells = bits.pivot(index=["task", "label"], columns="protocol", values="value")
    table = bits.groupby(["task", "label"])[["n"]].max().join(cells.reindex(columns=protocols))
    table = table.rename_axis(["text", "model"]).reset_index()
    texts = pd.Index(settings.texts or table["text"].unique())
    table = table.sort_values([protocols[-1], "model"], ignore_index=True)
    return table.sort_values("text", key=texts.get_indexer, kind="stable", ignore_index=True)


def get_panel_titles(grid: GridFile) -> dict[str, str]:
    """Return the titles of panels (`compare_texts`), by protocol and by kind of model."""
    titles = {}
    for key, protocol in grid.protocols.items():
        after = "both after training on the text, and on the task"
        before = "bits per byte and scores of the models as they are"
        titles[key] = f"{protocol.name}: {after if protocol.after_training else before}"
    for kind in grid.kinds:
        titles[kind] = f"{kind} models: bits per byte as they are, scores after training"
    return titles


def compare_texts(
    bits: dict[str, pd.DataFrame], grids: Grids, settings: GridSettings
) -> pd.DataFrame:
    """Compare bits and scores in panels: one per protocol, and one per kind of model.

    The panel of a kind compares bits before training with scores after it.
    """
    panels = {key: (bits[key], grids[key].measured) for key in grids if key in bits}
    trained = [key for key, protocol in settings.protocols.items() if protocol.after_training]
    untrained = settings.reference_protocol
    if untrained in bits and trained:
        untrained_bits = bits[untrained]
        kinds = grids[untrained].models["kind"].reindex(untrained_bits.index)
        for kind in settings.kinds:
            panels[kind] = untrained_bits[kinds == kind], grids[trained[0]].measured
    tables = [_compare_panel(*panel).assign(panel=name) for name, panel in panels.items()]
    return pd.concat(tables or [pd.DataFrame(columns=_COLUMNS)], ignore_index=True)[_COLUMNS]


def _compare_panel(bits: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Compute one row per text (column of `bits`) and task (column of `scores`), after a mean row per text.

    The sign of bits is reversed, so a positive value means that both prefer the same models.
    """
    kendall, pearson, models = compute_cross_agreement(-bits, scores)
    matrices = {"kendall": kendall, "pearson": pearson, "models": models}
    tables = []
    for text in bits:
        tasks = pd.DataFrame({name: matrix.loc[text] for name, matrix in matrices.items()})
        mean = tasks.mean().to_frame().T.assign(models=tasks["models"].max(), task=None)
        tasks = tasks.rename_axis("task").reset_index()
        tables.append(pd.concat([mean, tasks]).assign(text=text))
    return pd.concat(tables)


@validate_call
def main(
    texts: list[Path],
    grid: Path,
    bits: list[Path],
    text_agreement: list[Path],
    settings: GridSettings,
) -> None:
    """Write the tables of bits per byte and of the agreement of texts and tasks, to the files of these names."""
    rows = read_bits(texts, settings)
    table = compute_bits(rows, settings)
    note = _RUN_NOTE
    if not settings.run:
        note = f"Of {settings.about_texts}, as they were released; lower is better."
        if settings.lacking_texts:
            note += f" Left out: {settings.lacking_texts}."
    shown: dict[str, Any] = {
        "Text": table["text"].replace(settings.texts),
        "Model": "{model}",
        **{name: f"{{{key}:.3f}}" for key, name in settings.protocol_names.items() if key in table},
    }
    if table["n"].notna().any():
        shown["n"] = "{n:.0f}"
    title = "Bits per byte before and after training"

    write_grid_table(table, bits, settings, title=title, note=note, shown=shown)

    table = compare_texts(pivot_bits(rows, settings), read_grids(grid), settings)
    shown = {
        "Of": table["panel"].map(get_panel_titles(settings)),
        "Text": table["text"].replace(settings.texts),
        "Task": table["task"].map(settings.task_names).fillna("mean of all tasks"),
        "Kendall's tau-b": "{kendall:.3f}",
        "Pearson's r": "{pearson:.3f}",
        "Models": "{models:.0f}",
    }
    title = "Bits per byte of texts beside tasks"
    write_grid_table(
        table, text_agreement, settings, title=title, note=_AGREEMENT_NOTE, shown=shown
    )


if "snakemake" in globals():
    run_job(main, snakemake)
