"""Grids as data: what the files in config/grids say, and every problem of them in sentences."""

from pathlib import Path

import pytest
import yaml

from tests.tables import cases_beside
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.grids import grid_inputs, read_grid_files
from workflow_scripts.settings.tables import TaskRow, read_table

ROOT = Path(__file__).parents[3]
TASKS = read_table(TaskRow, ROOT / "config/tasks.tsv")
STRANGER = {
    "title": "A paper",
    "scores": ["theirs.csv"],
    "protocols": {
        "before": {"name": "before"},
        "after": {"name": "after", "after_training": True, "floored_by": "before"},
    },
    "categories": {"Ours": ["rte"], "Theirs": ["riddles"]},
    "tasks": {"riddles": {"name": "Riddles", "metric": "acc"}},
}


@pytest.fixture
def write(here):
    """Write a grid into the working directory."""
    (here / "theirs.csv").touch()
    (here / "config/grids").mkdir(parents=True)

    def write(name: str, **keys) -> Path:
        path = Path("config/grids", f"{name}.yaml")
        path.write_text(yaml.safe_dump(STRANGER | keys, sort_keys=False))
        return path

    return write


def test_the_grids_of_the_repository_are_read_and_their_files_are_there():
    grids = read_grid_files(ROOT, TASKS)
    assert list(grids) == ["own", "published", "test_task"]
    assert grids["own"].drawn == ["direct", "few_shot", "train_before_test"]
    inputs = grid_inputs(grids["published"], ROOT)
    assert {name: [Path(path).name for path in paths] for name, paths in inputs.items()} == {
        "scores": ["harmony_cells.csv"],
        "attributes": ["pretraining.tsv"],
        "release": ["harmony_leaderboard.csv"],
        "correlations": ["correlations.csv"],
    }


def test_a_strangers_grid_in_the_working_directory_stands_beside_them(write):
    write("a_paper")
    grids = read_grid_files(ROOT, TASKS)
    assert list(grids) == ["a_paper", "own", "published", "test_task"]
    assert grids["a_paper"].baseline == "before"
    assert grids["a_paper"].category_of == {"rte": "Ours", "riddles": "Theirs"}


@pytest.mark.parametrize(("keys", "texts"), cases_beside(__file__, "bad_grids.txt"))
def test_each_problem_is_one_sentence_with_the_file(write, keys, texts):
    path = write("a_paper", **keys)
    with pytest.raises(UserError) as raised:
        read_grid_files(ROOT, TASKS)
    assert all(problem.startswith(f"{path}: ") for problem in raised.value.problems)
    assert all(text in str(raised.value) for text in texts), str(raised.value)


def test_two_grids_have_results_of_different_names(write):
    write("one", files="same")
    write("two", files="same")
    with pytest.raises(UserError, match=r"two\.yaml: expected another name in the key files"):
        read_grid_files(ROOT, TASKS)
