"""Test that training, validation and test share no item, for each of the 24 published tasks."""

import pytest

from tests.processes import ROOT
from workflow_scripts.core.files import format_canonical_json
from workflow_scripts.grid.splits import HELD_OUT, load_splits
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.settings.tables import TaskRow, read_table

ROWS = read_table(TaskRow, ROOT / "config/tasks.tsv")
TASKS = [ROWS[task].harness_task for task in TEST_ITEMS]
RECIPE = TaskRecipe(val_fraction=0.2, max_training_items=50_000, max_validation_items=1_000)


def to_texts(documents) -> set[str]:
    return {format_canonical_json(dict(document)) for document in documents}


@pytest.mark.parametrize("name", TASKS)
def test_splits_share_no_item(world, name):
    with mirror(world):
        splits = load_splits(name, RECIPE, 0, "own")
        task = splits.test
        test, whole = to_texts(task.eval_docs), to_texts(task.training_docs())
        documents = splits.validation.eval_docs
        training = to_texts(splits.training)
        validation = to_texts(documents[number] for number in splits.validation_items)
    assert training and validation
    assert not (training & test or validation & test or training & validation)
    if splits.validation_split == HELD_OUT:
        assert training | validation == whole and len(validation) == round(0.2 * len(whole))
    else:
        assert splits.validation_split == task.config.validation_split != task.config.test_split


@pytest.mark.parametrize(
    ("name", "select_on_test", "split"),
    [
        # lm-eval has one split for validation and test; the published runs selected the epoch on the test.
        ("medmcqa", False, HELD_OUT),
        ("medmcqa", True, "validation"),
        ("sst2", True, HELD_OUT),
    ],
)
def test_select_on_test(world, name, select_on_test, split):
    recipe = RECIPE.model_copy(update={"select_on_test": select_on_test})
    with mirror(world):
        assert load_splits(name, recipe, 0, "own").validation_split == split
