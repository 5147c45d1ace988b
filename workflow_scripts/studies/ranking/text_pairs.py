"""How alike two texts rank the models by their bits per byte, under each protocol."""

from itertools import combinations
from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers
from workflow_scripts.stats.cross_agreement import cross_agreement
from workflow_scripts.studies.ranking import frame, labels
from workflow_scripts.studies.ranking.matrices import draw_matrices
from workflow_scripts.studies.ranking.requests import GridRequest, GridWords
from workflow_scripts.studies.ranking.texts import read_bits

COLUMNS = columns(
    ("text", "protocol first second"), ("number", "value pearson"), ("whole", "models")
)


def text_pairs(bits: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """A row for each two texts and protocol; `value` is Kendall's tau-b."""
    rows = []
    for protocol, wide in bits.items():
        found = cross_agreement(wide, wide)
        for first, second in combinations(wide, 2):
            rows.append((protocol, first, second, *(of.at[first, second] for of in found)))
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _show(table: pd.DataFrame, request: GridRequest) -> ShownColumns:
    names = request.grid.texts
    return {
        "Protocol": table["protocol"].map(request.grid.names),
        "Texts": table["first"].replace(names) + " and " + table["second"].replace(names),
        "Kendall's tau-b": numbers(table["value"]),
        "Pearson's r": numbers(table["pearson"]),
        "Models": numbers(table["models"], "d"),
    }


TABLE = Table(
    name="text_pairs",
    title=frame.titled("Agreement of texts about models", "agreement of texts about models"),
    note=(
        "How alike two texts rank the models by their bits per byte, over the models that have both:"
        " Kendall's tau-b of the rankings, and Pearson's r of the bits."
    ),
    columns=COLUMNS,
    asks=GridRequest,
    make=lambda inputs, request: text_pairs(read_bits(inputs, request)),
    show=_show,
)


def write_text_pairs(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """A square per protocol, as of tasks."""
    texts = dict.fromkeys([*table["first"], *table["second"]])
    names = request.grid.texts or {text: text for text in texts}
    draw_matrices(
        table,
        request.grid.names,
        request.grid,
        names={text: name.replace(" ", "\n") for text, name in names.items()},
        cell=0.72,
        label="Kendall's tau-b of the rankings by bits per byte of two texts",
        files=(pdf, png),
    )


FIGURE = Figure(name="text_pairs", asks=GridWords, draw=labels.drawn_from(TABLE, write_text_pairs))
