"""The tables of the published scores, made once from the files of the repository."""

from functools import cache
from pathlib import Path

import pandas as pd

from tests.made_once import temporary_folder
from tests.unit.settings.merged import load
from tests.written import written
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.settings.grids import PUBLISHED_GRID, grid_inputs
from workflow_scripts.studies.ranking import (
    agreement,
    bits,
    by_size,
    categories,
    components,
    price,
    releases,
    sizes,
    text_pairs,
    texts,
    two_tasks,
    variance,
)
from workflow_scripts.studies.ranking.requests import (
    grid_request,
    grid_words,
    pair_request,
    price_request,
    ranking_request,
)

ROOT = Path(__file__).parents[4]
PUBLISHED = ROOT / "resources/published"
SETTINGS = load({})
WORDS = grid_words(SETTINGS, PUBLISHED_GRID)
INPUTS = Inputs(grid_inputs(WORDS.grid, ROOT))
# Each table with its request.
STUDY = {
    **dict.fromkeys((agreement, components), ranking_request),
    **dict.fromkeys((categories, sizes, texts, bits, text_pairs, releases), grid_request),
    variance: grid_request,
    two_tasks: pair_request,
    by_size: ranking_request,
    price: price_request,
}


@cache
def made() -> Path:
    """A folder with all tables, written as the rules write them."""
    folder = temporary_folder()
    for module, request in STUDY.items():
        table, asked = module.TABLE, request(SETTINGS, PUBLISHED_GRID)
        written(table, table.make(INPUTS, asked), folder, asked)
    return folder


def table_of(module) -> pd.DataFrame:
    return module.TABLE.read(made() / f"{module.TABLE.name}.csv")


@cache
def cells() -> pd.DataFrame:
    """The file as it is: model and protocol in rows, tasks and texts in columns."""
    long = pd.read_csv(PUBLISHED / "harmony_cells.csv")
    return long.pivot(index=["protocol", "model"], columns="task", values="value")
