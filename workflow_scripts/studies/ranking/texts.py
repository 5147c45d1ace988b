"""Whether bits per byte of texts rank models as the scores of tasks do, as numbers and as heat maps."""

from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.render.figures import Figure, say_empty
from workflow_scripts.render.frames import columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.scores.imported import BITS
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.stats.cross_agreement import cross_agreement
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.grid import Grid, read_grids, read_scores
from workflow_scripts.studies.ranking.matrices import COLOURS, write_numbers
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords

COLUMNS = columns(
    ("text", "panel text"), ("maybe", "task"), ("number", "kendall pearson"), ("whole", "models")
)

_KINDS = "{kind} models: bits per byte as they are, scores after training"


def panels(grid: GridFile) -> dict[str, str]:
    """What is compared, by the panel that shows it: each protocol with itself, and kinds of models."""
    said = {
        key: f"{one.name}: both after training on the text, and on the task"
        if one.after_training
        else f"{one.name}: bits per byte and scores of the models as they are"
        for key, one in grid.protocols.items()
    }
    return said | {kind: _KINDS.format(kind=kind) for kind in grid.kinds}


def read_text_scores(inputs: Inputs, request: GridRequest) -> pd.DataFrame:
    """Those of texts of one's own, or among those of the grid."""
    if "corpora" in inputs:
        return pd.read_parquet(inputs.one("corpora"))
    return read_scores(inputs, request)


def read_bits(inputs: Inputs, request: GridRequest) -> dict[str, pd.DataFrame]:
    return bits_by_protocol(read_text_scores(inputs, request), request)


def bits_rows(scores: pd.DataFrame, request: GridRequest) -> pd.DataFrame:
    """A row for each text, model (its label) and protocol of figures."""
    bits = scores[(scores["metric"] == BITS) & scores["protocol"].isin(request.grid.drawn)]
    return bits.assign(
        label=bits["model"] + bits["variant"].fillna(""), value=bits["value"].astype(float)
    )


def bits_by_protocol(scores: pd.DataFrame, request: GridRequest) -> dict[str, pd.DataFrame]:
    """By protocol, the bits per byte of each text (columns) under each model (rows)."""
    bits = bits_rows(scores, request)
    found = {}
    for protocol in request.grid.drawn:
        of = bits[bits["protocol"] == protocol]
        if len(of):
            wide = of.pivot(index="label", columns="task", values="value")
            found[protocol] = wide[list(request.grid.texts or wide)]
    return found


def texts_beside_tasks(
    bits: dict[str, pd.DataFrame], grids: dict[str, Grid], request: GridRequest
) -> pd.DataFrame:
    """Bits and scores under the same protocol; those of each kind before training, and scores after it."""
    found = [
        text_agreement(bits[protocol], grids[protocol].measured, protocol)
        for protocol in grids
        if protocol in bits
    ]
    before = request.grid.baseline
    after = [key for key, one in request.grid.protocols.items() if one.after_training]
    for kind in request.grid.kinds if before in bits and after else ():
        kinds = grids[before].models["kind"].reindex(bits[before].index)
        of_kind = bits[before][kinds == kind]
        found.append(text_agreement(of_kind, grids[after[0]].measured, kind))
    if found:
        return pd.concat(found, ignore_index=True)
    return COLUMNS.typed(pd.DataFrame(columns=list(COLUMNS.named)))


def text_agreement(bits: pd.DataFrame, scores: pd.DataFrame, panel: str) -> pd.DataFrame:
    """A row for each text (columns of `bits`) and task (of `scores`), and one for the mean over tasks.

    Fewer bits are better: a positive number says that both find the same models good. `panel` says
    which bits and scores these are. The mean has no task and no number of models of its own.
    """
    found = cross_agreement(-bits, scores)
    rows: list[tuple] = []
    for text in bits:
        kendall, pearson, models = (of.loc[text] for of in found)
        rows += [(panel, text, None, kendall.mean(), pearson.mean(), models.max())]
        rows += [(panel, text, t, kendall[t], pearson[t], models[t]) for t in scores]
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    texts = request.grid.texts
    return {
        "Of": table["panel"].map(panels(request.grid)),
        "Texts" if texts else "Text": table["text"].map(texts) if texts else table["text"],
        "Task": table["task"].map(request.names).fillna("mean of all tasks"),
        "Kendall's tau-b": numbers(table["kendall"]),
        "Pearson's r": numbers(table["pearson"]),
        "Models": numbers(table["models"], "d"),
    }


def _note(_: pd.DataFrame, request: GridRequest) -> str:
    grid = request.grid
    lacking = f", which leaves out {grid.lacking_texts}" if grid.lacking_texts else ""
    of = f"bits per byte of {grid.about_texts} with {grid.called} on each task, over the models that have both{lacking}"
    if grid.run:
        of = (
            "the bits per byte of each text of harmony.corpora with our scores on each task, over the"
            " models that have both"
        )
    return (
        f"Agreement of {of}: Kendall's tau-b and Pearson's r, positive where fewer bits go with higher"
        " scores. A line without a task is the mean over the tasks."
        f"{' ' + frame.RAW_AND_MISSING if grid.run else ''}"
    )


TABLE = Table(
    name="texts",
    title=frame.titled("Bits per byte of your texts beside tasks", "bits per byte beside tasks"),
    note=_note,
    columns=COLUMNS,
    asks=GridRequest,
    make=lambda inputs, request: texts_beside_tasks(
        read_bits(inputs, request), read_grids(inputs, request), request
    ),
    show=_show,
)


def write_texts(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """A heat map of Kendall's tau-b for each panel, above one another: texts down, tasks across."""
    found = set(table["panel"])
    shown = {key: title for key, title in panels(request.grid).items() if key in found}
    texts = dict(request.grid.texts) or {text: text for text in table["text"]}
    tasks = {row.task: row.display_name for row in request.in_categories}
    tasks = {task: name for task, name in tasks.items() if task in set(table["task"])}
    rows = max(len(shown), 1)
    width = 2.2 + 0.34 * max(len(tasks), 8)
    height = 2.0 + rows * (0.45 + 0.3 * max(len(texts), 1))
    grid = {"nrows": rows, "squeeze": False, "sharex": True, "layout": "compressed"}
    with labels.drawing(pdf, png, width, height, **grid) as (fig, axes):
        if not shown or not tasks:
            say_empty(
                axes[0][0], "No models have both bits per byte of a text and scores of tasks."
            )
            return
        for (axis,), (panel, title) in zip(axes, shown.items(), strict=True):
            of = table[(table["panel"] == panel) & table["task"].notna()]
            square = of.pivot(index="text", columns="task", values="kendall")
            values = square.reindex(index=list(texts), columns=list(tasks)).to_numpy()
            mesh = axis.pcolormesh(
                values, cmap=COLOURS, vmin=-1, vmax=1, edgecolors="white", linewidth=0.5
            )
            write_numbers(axis, values, small=True, diagonal=True)
            axis.set_yticks(np.arange(len(texts)) + 0.5, texts.values(), fontsize=8)
            axis.set_xticks(np.arange(len(tasks)) + 0.5, tasks.values(), rotation=90, fontsize=8)
            axis.set_ylim(len(texts), 0)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            axis.set_title(f"{title} ({of['models'].max()} models)", fontsize=9, loc="left")
        bar = fig.colorbar(mesh, ax=list(axes[:, 0]), location="bottom", aspect=50, shrink=0.5)
        bar.set_label(
            "Kendall's tau-b of the rankings by bits per byte (fewest first) and by score"
        )
        bar.outline.set_visible(False)


FIGURE = Figure(name="texts", asks=GridWords, draw=labels.drawn_from(TABLE, write_texts))
