"""Read, baseline and describe a grid of somebody else's scores by its file alone."""

from pathlib import Path

import pytest
import yaml

from tests.unit.settings.merged import load
from tests.unit.settings.test_grids import STRANGER
from tests.unit.studies.published.published_study import build_files
from workflow_scripts.core.errors import UserError
from workflow_scripts.studies.ranking.grid import read_grids

COLUMNS = {"family": "house", "parameters_billion": "size", "tokens_billion": "read"}
GRID = STRANGER | {"pair": ["rte", "riddles"]}
GRID |= {"attributes": {"file": "models.csv", "columns": COLUMNS}}
MODELS = "model,house,size,read\na,Ours,1,10\nb,Ours,2,20\nc,Theirs,4,40\n"
BEFORE = [[0.5, 0.3], [0.6, 0.1], [0.7, 0.2]]
AFTER = [[0.4, 0.4], [0.7, 0.5], [0.8, 0.6]]


@pytest.fixture
def read_stranger(here):
    """Return how to write the grid's files into the working directory, and to read the grids that are built."""
    rows = [
        f"{model},{task},{protocol},{metric},{value}\n"
        for protocol, scores in (("before", BEFORE), ("after", AFTER))
        for model, values in zip("abc", scores, strict=True)
        for task, value in zip(("rte", "riddles"), values, strict=True)
        for metric in ("acc", "another")
    ]

    def read(**changes):
        (here / "config/grids").mkdir(parents=True)
        (here / "theirs.csv").write_text("model,task,protocol,metric,value\n" + "".join(rows))
        (here / "models.csv").write_text(MODELS)
        (here / "config/grids/a_paper.yaml").write_text(
            yaml.safe_dump(GRID | changes, sort_keys=False)
        )
        return read_grids(build_files("a_paper", Path(), load({}))["grid"])

    return read


def test_foreign_grid_clipping_and_attributes(read_stranger):
    grids = read_stranger()
    assert grids["before"].values.to_numpy().tolist() == BEFORE
    assert grids["after"].values.to_numpy().tolist() == [[0.5, 0.4], *AFTER[1:]]
    attributes = grids["after"].models.loc["c", ["family", "parameters", "tokens_billion"]]
    assert attributes.tolist() == ["Theirs", 4e9, 40]


def test_wrong_number_of_models_is_named(read_stranger):
    with pytest.raises(UserError, match=r"theirs\.csv: .*expected 4 models"):
        read_stranger(models=4)
