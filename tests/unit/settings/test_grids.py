"""Test reading grid files, and the error message of each invalid file."""

from pathlib import Path

import pytest
import yaml

from tests.tables import load_cases
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.grids import list_grid_files, read_grid_files
from workflow_scripts.settings.tables import TaskRow, read_table

TASKS = read_table(TaskRow, ROOT / "config/tasks.tsv")
EXTERNAL_GRID = {
    "title": "A paper",
    "scores": ["theirs.csv"],
    "protocols": {
        "before": {"name": "before"},
        "after": {"name": "after", "after_training": True, "clipped_by": "before"},
    },
    "categories": {"Ours": ["rte"], "Theirs": ["riddles"]},
    "tasks": {"riddles": {"name": "Riddles", "metric": "acc"}},
}


@pytest.fixture
def write(here):
    """Return a function that writes a grid file into the working directory."""
    (here / "config/grids").mkdir(parents=True)

    def write(**keys) -> Path:
        path = Path("config/grids/a_paper.yaml")
        path.write_text(yaml.safe_dump(EXTERNAL_GRID | keys, sort_keys=False))
        return path

    return write


def test_read_grid_files(write):
    """A grid file in the working directory is added to the repository's grids."""
    write()
    grids = read_grid_files(TASKS)
    assert list(grids) == ["a_paper", "own", "published", "test_task"]
    assert grids["a_paper"].reference_protocol == "before"
    assert grids["a_paper"].categories_by_task == {"rte": "Ours", "riddles": "Theirs"}
    files = list_grid_files(grids["published"])
    assert all(Path(path).is_file() for path in [*files.pop("scores"), *files.values()])


@pytest.mark.parametrize(("keys", "texts"), load_cases(__file__, "bad_grids.txt"))
def test_bad_grid(write, keys, texts):
    path = write(**keys)
    with pytest.raises(UserError) as error:
        read_grid_files(TASKS)
    assert all(problem.startswith(f"{path}: ") for problem in error.value.problems)
    assert all(text in str(error.value) for text in texts), str(error.value)
