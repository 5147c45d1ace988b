"""Whether bits per byte of texts rank models as the scores of tasks do, as numbers and as heat maps."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_placeholder, drawing
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.stats.agreement import cross_agreement
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.texts import pivot_bits, read_bits

_COLUMNS = ["panel", "text", "task", "kendall", "pearson", "models"]
_NOTE = (
    "Agreement of the bits per byte of texts with the scores on each task, over the models that have both:"
    " Kendall's tau-b and Pearson's r, positive where fewer bits go with higher scores. A line without a task is"
    " the mean over the tasks.{last}"
)


def title_panels(grid: GridFile) -> dict[str, str]:
    """What is compared, by the panel that shows it: each protocol with itself, and kinds of models."""
    said = {
        key: f"{one.name}: both after training on the text, and on the task"
        if one.after_training
        else f"{one.name}: bits per byte and scores of the models as they are"
        for key, one in grid.protocols.items()
    }
    kinds = "{kind} models: bits per byte as they are, scores after training"
    return said | {kind: kinds.format(kind=kind) for kind in grid.kinds}


def compare_texts(
    bits: dict[str, pd.DataFrame], grids: dict[str, Grid], settings: GridSettings
) -> pd.DataFrame:
    """Bits and scores under the same protocol; those of each kind before training, and scores after it."""
    grid = settings.grid
    found = [
        _compare_panel(bits[protocol], grids[protocol].measured, protocol)
        for protocol in grids
        if protocol in bits
    ]
    after = [key for key, one in grid.protocols.items() if one.after_training]
    for kind in grid.kinds if grid.baseline in bits and after else ():
        before = bits[grid.baseline]
        kinds = grids[grid.baseline].models["kind"].reindex(before.index)
        found.append(_compare_panel(before[kinds == kind], grids[after[0]].measured, kind))
    return pd.concat(found or [pd.DataFrame(columns=_COLUMNS)], ignore_index=True)


def _compare_panel(bits: pd.DataFrame, scores: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Compute a row for each text (columns of `bits`) and task (of `scores`), and one for the mean over tasks.

    Fewer bits are better: a positive number says that both find the same models good. `panel` says
    which bits and scores these are. The mean has no task and no number of models of its own.
    """
    kendall, pearson, models = cross_agreement(-bits, scores)
    tables = []
    for text in bits:
        of_text = {"kendall": kendall.loc[text], "pearson": pearson.loc[text]}
        table = pd.DataFrame(of_text | {"models": models.loc[text]}).rename_axis("task")
        mean = table.mean().to_frame().T.assign(models=table["models"].max(), task=None)
        tables.append(pd.concat([mean, table.reset_index()]).assign(panel=panel, text=text))
    return pd.concat(tables)[_COLUMNS]


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    return {
        "Of": table["panel"].map(title_panels(settings.grid)),
        "Text": table["text"].replace(settings.grid.texts),
        "Task": table["task"].map(settings.names).fillna("mean of all tasks"),
        "Kendall's tau-b": numbers(table["kendall"]),
        "Pearson's r": numbers(table["pearson"]),
        "Models": numbers(table["models"], ".0f"),
    }


def plot_texts(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a heat map of Kendall's tau-b for each panel, above one another: texts down, tasks across."""
    titles, present = title_panels(settings.grid), set(table["panel"])
    panels = [panel for panel in titles if panel in present]
    texts = dict(settings.grid.texts) or {text: text for text in table["text"]}
    tasks = set(table["task"])
    names = {row.task: row.display_name for row in settings.in_categories if row.task in tasks}
    size = 2.2 + 0.34 * max(len(names), 8), 2.0 + max(len(panels), 1) * (0.75 + 0.3 * len(texts))
    grid: dict[str, Any] = {
        "nrows": max(len(panels), 1),
        "squeeze": False,
        "sharex": True,
        "layout": "compressed",
    }
    with drawing(files, *size, **grid) as (fig, axes):
        if not panels or not names:
            draw_placeholder(
                axes[0][0], "No models have both bits per byte of a text and scores of tasks."
            )
            return
        for axis, panel in zip(axes[:, 0], panels, strict=True):
            of = table[(table["panel"] == panel) & table["task"].notna()]
            square = of.pivot(index="text", columns="task", values="kendall")
            values, shown = (
                square.reindex(index=list(texts), columns=list(names)),
                [*names.values()],
            )
            mesh = plots.draw_heat_map(
                axis, values.to_numpy(), [*texts.values()], shown, small=True
            )
            title = f"{titles[panel]} ({of['models'].max():.0f} models)"
            axis.set_title(title, fontsize=9, loc="left")
        label = "Kendall's tau-b of the rankings by bits per byte (fewest first) and by score"
        plots.draw_colour_bar(fig, mesh, list(axes[:, 0]), label)


def main(
    texts: list[Path],
    cells: Path,
    models: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
) -> None:
    of_grid = GridSettings.of(settings)
    bits = pivot_bits(read_bits(texts, of_grid), of_grid)
    agreement = compare_texts(bits, read_grids(cells, models), of_grid)
    title = frame.make_title("Bits per byte of texts beside tasks", of_grid)
    note = _NOTE.format(last=frame.RAW_AND_MISSING * of_grid.grid.run)
    shown = format_columns(agreement, of_grid)
    write_table(agreement, table, title=title, note=note, shown=shown)
    plot_texts(agreement, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
