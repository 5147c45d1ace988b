"""Compare the items of `draws: published` with LM-Harmony's sampling, reimplemented from its description.

Each draw seeds numpy's global generator with 0. For a task without both a validation and a test split,
the training items are permuted; the first 80% are for training and the next 20% for validation, both
rounded down. Then each of training, validation and test is capped if it has more items: the first ones of
a permutation, in its order.
"""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from workflow_scripts.evaluation.lm_eval_run import sample_items
from workflow_scripts.grid.splits import load_splits
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import TaskRecipe

SEED = 7  # the run's seed; published draws do not depend on it


def permute(items: list) -> list:
    np.random.seed(0)
    return [items[number] for number in np.random.permutation(len(items))]


def cap_items(items: list, cap: int) -> list:
    return permute(items)[:cap] if len(items) > cap else items


def hold_out(items: list) -> tuple[list, list]:
    permuted, first = permute(items), len(items) * 8 // 10
    return permuted[:first], permuted[first : first + len(items) * 2 // 10]


# The number of items above the cap, and numbers of training rows with different rounding of 80% and 20%.
@pytest.mark.parametrize(
    ("name", "folder", "excess", "rows"),
    [
        ("sst2", "nyu-mll/glue/sst2", 0, 1_198),
        ("sst2", "nyu-mll/glue/sst2", 5, 1_199),
        ("arc_easy", "allenai/ai2_arc/ARC-Easy", 5, 1_199),
    ],
)
def test_published_draws(world, tmp_path, name, folder, excess, rows):
    repository = Path("datasets", folder).parent
    shutil.copytree(world / repository, tmp_path / repository)
    (path,) = (tmp_path / "datasets" / folder).glob("train-*.parquet")
    pq.write_table(pq.read_table(path).slice(0, rows), path)
    with mirror(tmp_path):
        (task,) = load_tasks([name]).values()
        training, count = list(task.training_docs()), len(task.eval_docs)
        if name == "arc_easy":
            validation = list(task.validation_docs())
        else:
            training, validation = hold_out(training)
        recipe = TaskRecipe(
            max_training_items=len(training) - excess, max_validation_items=len(validation) - excess
        )
        splits = load_splits(name, recipe, SEED, "published")
        validation_documents = [
            splits.validation.eval_docs[number] for number in splits.validation_items
        ]
    assert splits.training == cap_items(training, recipe.max_training_items)
    ids = [str(document) for document in cap_items(validation, recipe.max_validation_items)]
    assert sorted(map(str, validation_documents)) == sorted(ids)
    test = sample_items({name: count}, count - excess, SEED, name, "published")
    assert test == {name: sorted(cap_items(list(range(count)), count - excess))}
