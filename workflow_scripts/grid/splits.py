"""Split the items of a task for training, validation and test; validation selects the epoch.

A task with separate validation and test splits keeps them. For other tasks, a fraction of the training
split is held out for validation, and the split that lm-eval evaluates is the test. So no epoch is selected
on test items, also if a task uses one split for both, as medmcqa does. The recipe's `select_on_test`
selects on the test split, as the published code does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.item_sampling import draw_items, permute_items
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import Draws, TaskRecipe

HELD_OUT = "held_out_of_training"


@dataclass(frozen=True)
class Splits:
    """The splits of an lm-eval task; call `load_splits` inside `mirror`."""

    test: Any  # lm-eval's own task, unchanged
    validation: Any  # the same task, but lm-eval evaluates the validation items
    training: list[dict]
    validation_split: str
    validation_items: list[int]  # indices into the items that `validation` evaluates


def load_splits(name: str, recipe: TaskRecipe, seed: int, draws: Draws) -> Splits:
    """Load a task of lm-eval with its splits; `draws` says how training and validation items are sampled."""
    (test,) = load_tasks([name]).values()
    (validation,) = load_tasks([name]).values()
    if not test.has_training_docs():
        raise UserError(
            f"The task {name!r} has no training split; it has only the protocol direct."
        )
    split, test_split = validation.config.validation_split, validation.config.test_split
    if not (split and test_split and (recipe.select_on_test or split != test_split)):
        _hold_out(validation, name, recipe.val_fraction, seed, draws)
        split = HELD_OUT
    validation.set_config("validation_split", split)
    validation.set_config("test_split", None)  # else lm-eval would evaluate the test split
    documents = validation.training_docs()
    cap = recipe.max_training_items
    training = draw_items(len(documents), cap, draws, seed, "training items", name)
    count, cap = len(validation.eval_docs), recipe.max_validation_items
    # "choosing items" is a part of the seed.
    validation_items = sorted(draw_items(count, cap, draws, seed, "choosing items", name))
    return Splits(
        test=test,
        validation=validation,
        training=[documents[number] for number in training],
        validation_split=split,
        validation_items=validation_items,
    )


def _hold_out(task: Any, name: str, fraction: float, seed: int, draws: Draws) -> None:
    """Move a random fraction of the raw training rows to the split HELD_OUT."""
    split = task.config.training_split
    rows = task.dataset[split]
    order = permute_items(len(rows), draws, seed, "held out", name)
    if draws == "published":  # both sizes are rounded down, and the permutation is not sorted
        end = int((1 - fraction) * len(rows))
        training, held_out = order[:end], order[end : end + int(fraction * len(rows))]
    else:
        count = max(1, round(fraction * len(rows)))
        held_out, training = np.sort(order[:count]), np.sort(order[count:])
    task.dataset[HELD_OUT] = rows.select(held_out)
    task.dataset[split] = rows.select(training)
