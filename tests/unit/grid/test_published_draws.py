"""With `draws: published` a cell has the items that LM-Harmony draws, written down from its description.

Before each draw numpy's global generator is set to seed 0. A task without both a validation and a test
split has its training items permuted; the first .8 train and the next .2 choose, both rounded down. Then
training, choosing and test items are cut to their caps, each only where there are more: the first of a
permutation, in its order.
"""

from functools import partial

import numpy as np
import pytest

from tests.cells import make_cell
from workflow_scripts.core.items import read_items
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.grid import splits as splits_module
from workflow_scripts.grid.splits import load_splits
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import TaskRecipe

SEED = 7  # of the run, which the published draws do not depend on


def permute(items: list) -> list:
    np.random.seed(0)
    return [items[number] for number in np.random.permutation(len(items))]


def cap_items(items: list, cap: int) -> list:
    return permute(items)[:cap] if len(items) > cap else items


def hold_out(items: list) -> tuple[list, list]:
    permuted, first = permute(items), len(items) * 8 // 10
    return permuted[:first], permuted[first : first + len(items) * 2 // 10]


def load_shortened(names: list[str], rows: int) -> dict:
    tasks = load_tasks(names)
    for task in tasks.values():
        task.dataset["train"] = task.dataset["train"].select(range(rows))
    return tasks


# Items above the cap, and training rows of which .8 and .2 are rounded in each way.
@pytest.mark.parametrize(
    ("name", "metric", "excess", "rows"),
    [("sst2", "acc", 0, 1_198), ("sst2", "acc", 5, 1_199), ("arc_easy", "acc_norm", 5, 1_199)],
)
def test_published_draws(world, model_manifest, tmp_path, monkeypatch, name, metric, excess, rows):
    monkeypatch.setattr(splits_module, "load_tasks", partial(load_shortened, rows=rows))
    with mirror(world):
        (task,) = load_shortened([name], rows).values()
        training, test = list(task.training_docs()), list(range(len(task.eval_docs)))
        if name == "arc_easy":
            choosing = list(task.validation_docs())
        else:
            training, choosing = hold_out(training)
        recipe = TaskRecipe(
            max_training_items=len(training) - excess, max_validation_items=len(choosing) - excess
        )
        changes = {"max_test_items": len(test) - excess, "draws": "published", "seed": SEED}
        request = make_cell(name, metric, protocol="train_before_test", recipe=recipe, **changes)
        splits = load_splits(name, recipe, SEED, request.draws)
        choosing_documents = [splits.choosing.eval_docs[number] for number in splits.choosing_items]
    assert splits.training == cap_items(training, recipe.max_training_items)
    ids = [str(document) for document in cap_items(choosing, recipe.max_validation_items)]
    assert sorted(map(str, choosing_documents)) == sorted(ids)
    evaluate_direct(model_manifest, world, tmp_path / "r.json", make_cell(name, metric, **changes))
    items = read_items(tmp_path / "r.parquet").column("item").to_pylist()
    numbers = sorted(cap_items(test, changes["max_test_items"]))
    assert [int(item.rpartition("/")[2]) for item in items] == numbers
