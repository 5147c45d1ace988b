"""Compare how bits per byte of texts and the scores of tasks rank models."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.stats.agreement import compute_cross_agreement
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.texts import pivot_bits, read_bits

_COLUMNS = ["panel", "text", "task", "kendall", "pearson", "models"]
_NOTE = (
    "Agreement of the bits per byte of texts with the scores on each task, over the models that have both:"
    " Kendall's tau-b and Pearson's r, positive where fewer bits go with higher scores. A line without a task is"
    " the mean over the tasks."
)


def get_panel_titles(grid: GridFile) -> dict[str, str]:
    """Title what is compared: under each protocol, and for kinds of models bits before and scores after training."""
    titles = {}
    for key, protocol in grid.protocols.items():
        after = "both after fine-tuning on the text and on the task"
        before = "bits per byte and scores zero-shot"
        titles[key] = f"{protocol.name}: {after if protocol.after_training else before}"
    for kind in grid.kinds:
        titles[kind] = f"{kind} models: bits per byte zero-shot, scores after fine-tuning"
    return titles


def compare_texts(
    bits: dict[str, pd.DataFrame], grids: Grids, settings: GridSettings
) -> pd.DataFrame:
    """Compare bits and scores under the same protocol, and of each kind bits before and scores after training."""
    grid = settings.grid
    pairs = {key: (bits[key], grids[key].measured) for key in grids if key in bits}
    after = [key for key, protocol in grid.protocols.items() if protocol.after_training]
    for kind in grid.kinds if grid.baseline in bits and after else ():
        before = bits[grid.baseline]
        of_kind = grids[grid.baseline].models["kind"].reindex(before.index) == kind
        pairs[kind] = before[of_kind], grids[after[0]].measured
    tables = [_compare_panel(*pair).assign(panel=panel) for panel, pair in pairs.items()]
    return pd.concat(tables or [pd.DataFrame(columns=_COLUMNS)], ignore_index=True)[_COLUMNS]


def _compare_panel(bits: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Compute a row for each text (columns of `bits`) and task (of `scores`), and before it one of their mean.

    Fewer bits are better: a positive number says that both find the same models good.
    """
    measures = dict(zip(_COLUMNS[3:], compute_cross_agreement(-bits, scores), strict=True))
    tables = []
    for text in bits:
        tasks = pd.DataFrame({name: matrix.loc[text] for name, matrix in measures.items()})
        mean = tasks.mean().to_frame().T.assign(models=tasks["models"].max(), task=None)
        tasks = tasks.rename_axis("task").reset_index()
        tables.append(pd.concat([mean, tasks]).assign(text=text))
    return pd.concat(tables)


def plot_texts(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a heat map of Kendall's tau-b for each panel, above one another: texts down, tasks across."""
    present, tasks = set(table["panel"]), set(table["task"])
    names = {row.task: row.display_name for row in settings.in_categories if row.task in tasks}
    maps = {}
    for panel, title in get_panel_titles(settings.grid).items():
        rows = table[(table["panel"] == panel) & table["task"].isin(list(names))]
        if panel in present:
            square = rows.pivot(index="text", columns="task", values="kendall")
            square = square.rename(index=settings.grid.texts)[list(names)]
            title = f"{title} ({rows['models'].max():.0f} models)"
            maps[title] = square.rename(columns=names)
    label = "Kendall's tau-b of the rankings by bits per byte (fewest first) and by score"
    plots.plot_heat_maps(maps, files, label, nrows=max(len(maps), 1), ncols=1)


def main(
    texts: list[Path],
    cells: Path,
    models: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
) -> None:
    grid_settings = GridSettings.of(settings)
    bits = pivot_bits(read_bits(texts, grid_settings), grid_settings)
    agreement = compare_texts(bits, read_grids(cells, models), grid_settings)
    shown = {
        "Of": agreement["panel"].map(get_panel_titles(grid_settings.grid)),
        "Text": agreement["text"].replace(grid_settings.grid.texts),
        "Task": agreement["task"].map(grid_settings.names).fillna("mean of all tasks"),
        "Kendall's tau-b": "{kendall:.3f}",
        "Pearson's r": "{pearson:.3f}",
        "Models": "{models:.0f}",
    }
    title = "Bits per byte of texts beside tasks"
    frame.write_grid_table(agreement, table, grid_settings, title=title, note=_NOTE, shown=shown)
    plot_texts(agreement, grid_settings, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
