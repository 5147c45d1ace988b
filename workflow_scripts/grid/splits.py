"""Split the items of a task for training, validation (to select on) and test.

A task with separate validation and test splits keeps them. For other tasks, a fraction of the training
split is held out for validation, and the split that lm-eval evaluates is the test. So nothing is selected
on the test items, also if a task uses one split for both, as medmcqa does. The recipe's `select_on_test`
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
    choosing: Any  # the same task, but evaluating the validation items
    training: list[dict]
    choosing_split: str
    choosing_items: list[int]  # indices into the items that `choosing` evaluates


def load_splits(name: str, recipe: TaskRecipe, seed: int, draws: Draws = "own") -> Splits:
    """Load a task with its splits; the training and validation items are sampled by seed."""
    (test,) = load_tasks([name]).values()
    (choosing,) = load_tasks([name]).values()
    if not test.has_training_docs():
        raise UserError(
            f"The task {name!r} has no training split; it can be measured directly only."
        )
    split, tested = choosing.config.validation_split, choosing.config.test_split
    if not (split and tested and (recipe.select_on_test or split != tested)):
        _hold_out(choosing, name, recipe.val_fraction, seed, draws)
        split = HELD_OUT
    choosing.set_config("validation_split", split)
    choosing.set_config("test_split", None)
    documents = choosing.training_docs()
    cap = recipe.max_training_items
    training = draw_items(len(documents), cap, draws, seed, "training items", name)
    count, cap = len(choosing.eval_docs), recipe.max_validation_items
    return Splits(
        test=test,
        choosing=choosing,
        training=[documents[number] for number in training],
        choosing_split=split,
        choosing_items=sorted(draw_items(count, cap, draws, seed, "choosing items", name)),
    )


def _hold_out(task: Any, name: str, share: float, seed: int, draws: Draws) -> None:
    """Move a random fraction of the raw training rows to a new split."""
    split = task.config.training_split
    rows = task.dataset[split]
    order = permute_items(len(rows), draws, seed, "held out", name)
    if draws == "published":  # both sizes are rounded down, and the permutation is not sorted
        first = int((1 - share) * len(rows))
        training, held_out = order[:first], order[first : first + int(share * len(rows))]
    else:
        count = max(1, round(share * len(rows)))
        held_out, training = np.sort(order[:count]), np.sort(order[count:])
    task.dataset[HELD_OUT] = rows.select(held_out)
    task.dataset[split] = rows.select(training)
