"""Figure: the same agreement of tasks as Pearson's correlation of their scores."""

from functools import partial

from workflow_scripts.render.figures import Figure
from workflow_scripts.studies.ranking.agreement import TABLE
from workflow_scripts.studies.ranking.labels import drawn_from
from workflow_scripts.studies.ranking.matrices import write_matrices
from workflow_scripts.studies.ranking.requests import GridWords

FIGURE = Figure(
    name="agreement_pearson",
    asks=GridWords,
    draw=drawn_from(TABLE, partial(write_matrices, measure="pearson")),
)
