"""A grid of somebody else's scores is data: read, floored and analysed by its file alone."""

from pathlib import Path

import pytest
import yaml

from tests.unit.settings.merged import load
from tests.unit.settings.test_grids import STRANGER
from tests.unit.studies.published.published_study import build
from workflow_scripts.core.errors import UserError
from workflow_scripts.studies.ranking.grid import read_grids

MORE = {
    "models": 3,
    "pair": ["rte", "riddles"],
    "attributes": {
        "file": "models.csv",
        "columns": {"family": "house", "parameters_billion": "size", "tokens_billion": "read"},
    },
}
MODELS = "model,house,size,read\na,Ours,1,10\nb,Ours,2,20\nc,Theirs,4,40\n"
SCORES = {
    "before": ((0.5, 0.3), (0.6, 0.1), (0.7, 0.2)),
    "after": ((0.4, 0.4), (0.7, 0.5), (0.8, 0.6)),
}


@pytest.fixture
def stranger(here):
    """Makes the grid's files in the working directory, and gives its settings."""
    (here / "config/grids").mkdir(parents=True)
    rows = [
        f"{model},{task},{protocol},{metric},{value}"
        for protocol, of in SCORES.items()
        for model, values in zip("abc", of, strict=True)
        for task, value in zip(("rte", "riddles"), values, strict=True)
        for metric in ("acc", "another")
    ]

    def write(kept="", known=MODELS, **changes):
        scores = ["model,task,protocol,metric,value", *(row for row in rows if kept in row)]
        (here / "theirs.csv").write_text("\n".join(scores) + "\n")
        (here / "models.csv").write_text(known)
        described = STRANGER | MORE | changes
        (here / "config/grids/a_paper.yaml").write_text(yaml.safe_dump(described, sort_keys=False))
        return load({})

    return write


def read_stranger(settings):
    built = build("a_paper", Path(), settings)
    return read_grids(built["cells"], built["models"])


def test_scores_after_training_are_floored_and_models_have_their_attributes(stranger):
    settings = stranger()
    grids = read_stranger(settings)
    assert list(grids) == ["before", "after"]
    assert grids["before"].values.to_numpy().tolist() == [[0.5, 0.3], [0.6, 0.1], [0.7, 0.2]]
    assert grids["after"].values.to_numpy().tolist() == [[0.5, 0.4], [0.7, 0.5], [0.8, 0.6]]
    about = grids["after"].models
    assert about.loc["c", ["family", "parameters", "tokens_billion"]].tolist() == [
        "Theirs",
        4e9,
        40,
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"models": 4}, r"theirs\.csv: .*expected 4 models"),
        ({"kept": "before"}, r"theirs\.csv: .*none under the protocols \['after'\]"),
        ({"known": MODELS + "a,Ours,1,10\n"}, r"models\.csv has a model twice"),
        ({"known": MODELS.replace("house", "home")}, r"models\.csv .*lacks a column"),
        ({"known": ""}, r"models\.csv is empty"),
        ({"tasks": {"riddles": {"name": "Riddles", "metric": "f1"}}}, "tables report 'f1'"),
    ],
)
def test_what_its_files_lack_is_one_sentence_with_the_place(stranger, changes, said):
    settings = stranger(**changes)
    with pytest.raises(UserError, match=said):
        read_stranger(settings)
