"""Bits per byte of each text, as the models are and after training on it: how well each model knows the text."""

from math import ceil
from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure, legend_below, say_empty
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.rank_lines import NAMED
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords
from workflow_scripts.studies.ranking.texts import bits_rows, read_text_scores

SPACED = 20  # models, more of which stand closer together
_NOTE_OF_RUN = (
    "Of the last tenth of each text, in n windows; lower is better. After training: on the first eight"
    " tenths, the state chosen on the ninth."
)
# Behind n, the bits under each protocol.
COLUMNS = columns(("text", "text model"), ("whole", "n"), like={frame.TASK_NAME: "number"})


def bits_table(scores: pd.DataFrame, request: GridRequest) -> pd.DataFrame:
    """One row a text and model, those of fewest bits under the last protocol first."""
    bits, texts = bits_rows(scores, request), request.grid.texts
    found = dict.fromkeys(bits["protocol"])
    protocols = [key for key in request.grid.protocols if key in found or _of_texts(key, request)]
    index = ["task", "label"]
    wide = bits.pivot(index=index, columns="protocol", values="value").reindex(columns=protocols)
    table = wide.assign(n=bits.groupby(index)["n"].max()).reset_index()
    order = {text: at for at, text in enumerate(texts or sorted(set(table["task"])))}
    table = table.assign(at=table["task"].map(order)).sort_values(["at", protocols[-1], "label"])
    table = table.rename(columns={"task": "text", "label": "model"})
    return COLUMNS.typed(table.drop(columns="at")[["text", "model", "n", *protocols]])


def _of_texts(key: str, request: GridRequest) -> bool:
    """Whether texts are measured under a protocol, though all its cells may be broken."""
    one = request.grid.protocols[key]
    return key == request.grid.baseline or (one.after_training and not one.scores_of)


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    return {
        "Text": table["text"].replace(request.grid.texts),
        "Model": table["model"],
        **{name: numbers(table[key]) for key, name in _shown(table, request.grid).items()},
        **({"n": numbers(table["n"], "d")} if table["n"].notna().any() else {}),
    }


def _shown(table: pd.DataFrame, grid: GridFile) -> dict[str, str]:
    return {key: name for key, name in grid.names.items() if key in table}


def _note(_: pd.DataFrame, request: GridRequest) -> str:
    if request.grid.run:
        return _NOTE_OF_RUN
    lacking = f" Left out: {request.grid.lacking_texts}." if request.grid.lacking_texts else ""
    return f"Of {request.grid.about_texts}, as they were released; lower is better.{lacking}"


TABLE = Table(
    name="bits",
    title=frame.titled("Bits per byte before and after training", "bits per byte of texts"),
    note=_note,
    columns=COLUMNS,
    asks=GridRequest,
    make=lambda inputs, request: bits_table(read_text_scores(inputs, request), request),
    show=_show,
)


def write_bits(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """A panel a text, a line a model, in the order of the table; a mark for each protocol."""
    texts, protocols = list(dict.fromkeys(table["text"])), _shown(table, request.grid)
    most = int(table["text"].value_counts().max()) if texts else 5
    names = dict(request.grid.texts) or {text: text for text in texts}
    columns = max(len(texts), 1)
    size = 1.6 + 3.2 * columns, 1.1 + (0.24 if most <= SPACED else 0.15) * min(most, NAMED)
    with labels.drawing(pdf, png, *size, ncols=columns, squeeze=False) as (fig, grid):
        if not texts:
            say_empty(grid[0][0], "No text has a score.")
            return
        for axes, text in zip(grid[0], texts, strict=True):
            rows = table[table["text"] == text].iloc[::-1].reset_index(drop=True)
            ends = rows[list(protocols)]
            axes.hlines(rows.index, ends.min(axis=1), ends.max(axis=1), color="0.8", linewidth=1.4)
            for key, name in protocols.items():
                colour, marker = labels.look_of(key, request.grid)
                axes.plot(rows[key], rows.index, marker, color=colour, markersize=4, label=name)
            shown = rows["model"] if request.grid.run else rows["model"].str.split("/").str[-1]
            named = rows.index[:: ceil(most / NAMED)]
            axes.set_yticks(named, shown[named], fontsize=8 if most <= SPACED else 6)
            axes.set_ylim(-0.7, len(rows) - 0.3)
            axes.set_title(names[text], fontsize=9)
            axes.set_xlabel("bits per byte")
            labels.rule(axes, "x")
        legend_below(fig, grid[0][0], 3)


FIGURE = Figure(name="bits", asks=GridWords, draw=labels.drawn_from(TABLE, write_bits))
