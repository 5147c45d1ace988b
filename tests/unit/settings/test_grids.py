"""Grids as data: what the files in config/grids say, and every problem of them in sentences."""

from pathlib import Path

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.grids import grid_inputs, read_grid_files
from workflow_scripts.settings.tables import read_tasks

ROOT = Path(__file__).parents[3]
TASKS = read_tasks(ROOT / "config/tasks.tsv")
STRANGER = """
title: A paper
scores: [theirs.csv]
protocols:
  before: {name: before}
  after: {name: after, after_training: true, floored_by: before}
categories:
  Tasks of ours: [rte]
  Tasks of theirs: [riddles]
tasks:
  riddles: {name: Riddles, metric: acc}
"""


def problems(text: str) -> list[str]:
    path = Path("config/grids/a_paper.yaml")  # the folder is the working directory
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_grid_files(ROOT, TASKS)
    assert all(problem.startswith(f"{path}: ") for problem in caught.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


@pytest.fixture
def folder(here):
    (here / "theirs.csv").touch()
    return here


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


def test_a_strangers_grid_in_the_working_directory_stands_beside_them(folder):
    (folder / "config/grids").mkdir(parents=True)
    (folder / "config/grids/a_paper.yaml").write_text(STRANGER)
    grids = read_grid_files(ROOT, TASKS)
    assert list(grids) == ["a_paper", "own", "published", "test_task"]
    assert grids["a_paper"].baseline == "before"
    assert grids["a_paper"].category_of == {"rte": "Tasks of ours", "riddles": "Tasks of theirs"}


@pytest.mark.usefixtures("folder")
def test_all_problems_of_a_file_are_said_at_once_with_the_place():
    text = STRANGER.replace("floored_by: before", "floored_by: befor")
    text = text.replace("[rte]", "[rt, riddles]").replace("[theirs.csv]", "[their.csv]")
    text += "pair: [rte, cola]\n"
    assert problems(text) == [
        "protocols.after.floored_by is 'befor'; expected another protocol of the file (did you mean"
        " 'before'?).",
        "categories.Tasks of ours[0] is 'rt'; expected a task of the tasks table, or one under tasks"
        " (did you mean 'rte'?).",
        "categories.Tasks of theirs[0] is 'riddles', which Tasks of ours has; expected each task once.",
        "pair is rte and cola; expected two tasks of categories.",
        "scores[0] is 'their.csv'; expected a file, but there is none in the working directory or"
        " beside the Snakefile.",
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title:", "titel:", "titel is 'A paper', but the config has no such key"),
        ("metric: acc", "metrik: acc", "tasks.riddles.metric is missing; expected text"),
        ("scores: [theirs.csv]", "", "expected either run: true, or files of scores."),
        ("before:", "Before:", "protocols has the key 'Before'; expected a name of lower-case"),
        (
            "tasks:",
            "attributes: {file: theirs.csv, columns: {famly: f}}\ntasks:",
            "or date (did you mean 'family'?)",
        ),
        ("[riddles]", "[rte]", "tasks.riddles is in none of categories; expected it in one."),
        (
            "tasks:",
            "newer: {since: '2023-11', chance: {rte: 0.5}}\ntasks:",
            "newer needs attributes.columns.parameters_billion, which is missing",
        ),
        (
            "tasks:",
            "newer: {since: '2023-11', chance: {rte: 0.5}, printed: {befor: {}}}\ntasks:",
            "newer.printed has the key 'befor'; expected one of before or after",
        ),
        (
            "tasks:",
            "newer: {since: '2023-11', chance: {rte: 0.5, ridles: 0.1}}\ntasks:",
            "newer.chance has the key 'ridles'; expected a task of categories (did you mean 'riddles'?)",
        ),
        (
            "tasks:",
            "newer: {since: '2023-11', chance: {rte: 0.5}}\ntasks:",
            "newer.chance.riddles is missing; expected a number for each task",
        ),
        (
            "tasks:",
            "newer: {since: 2023, chance: {}}\ntasks:",
            "newer.since is 2023; expected a month",
        ),
        (
            STRANGER,
            "run: true\nprotocols: {odd: {name: odd}}",
            "protocols.odd is no protocol of a run",
        ),
    ],
)
def test_each_problem_is_one_sentence(old, new, said):
    found = problems(STRANGER.replace(old, new))
    assert any(said in problem for problem in found), found


def test_two_grids_have_results_of_different_names(folder):
    (folder / "config/grids").mkdir(parents=True)
    for name in ("one", "two"):
        (folder / f"config/grids/{name}.yaml").write_text(STRANGER + "files: same\n")
    with pytest.raises(
        UserError, match=r"two\.yaml: its results are called same_…, as those of .*one"
    ):
        read_grid_files(folder, TASKS)
