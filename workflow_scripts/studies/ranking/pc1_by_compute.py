"""Figure: the first component of each model beside the compute of its pre-training, where that is known."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.figures import Figure
from workflow_scripts.studies.ranking.labels import drawn_from
from workflow_scripts.studies.ranking.leaderboard import TABLE
from workflow_scripts.studies.ranking.pc1_by_size import COMPUTE, write_pc1
from workflow_scripts.studies.ranking.requests import GridWords

OPERATIONS = 6  # of pre-training, for each parameter and token


def compute(parameters: pd.Series, tokens_billion: pd.Series) -> pd.Series:
    """Floating-point operations of pre-training."""
    return OPERATIONS * parameters * tokens_billion * 1e9


def write_pc1_by_compute(table: pd.DataFrame, request: GridWords, pdf: Path, png: Path) -> None:
    """A checkpoint that chunking and training made stands at the compute of the model it was made from."""
    known = compute(table["parameters"].astype("Float64").astype(float), table["tokens_billion"])
    write_pc1(table.assign(**{COMPUTE: known}), (COMPUTE,), request.grid, pdf, png)


FIGURE = Figure(
    name="pc1_by_compute",
    asks=GridWords,
    draw=drawn_from(TABLE, write_pc1_by_compute),
)
