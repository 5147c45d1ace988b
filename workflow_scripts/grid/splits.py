"""Which items of a task are for training, which for choosing, and which for the test.

A task that has a validation and a test split of its own is used as it is. Of any other, a share of
the training split is held out to choose on, and the split that lm-eval evaluates is the test. So the
test is never chosen on, also where a task names one split for both, as medmcqa does; unless the recipe's
`choose_on_test` asks for what the published code does.
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
    """lm-eval's task three times over; call `load_splits` inside `mirror`."""

    test: Any  # lm-eval's own, untouched
    choosing: Any  # the same, evaluating the items to choose on
    training: list[dict]
    choosing_split: str
    choosing_items: list[int]  # of those that `choosing` evaluates


def load_splits(name: str, recipe: TaskRecipe, seed: int, draws: Draws = "own") -> Splits:
    (test,) = load_tasks([name]).values()
    (choosing,) = load_tasks([name]).values()
    if not test.has_training_docs():
        raise UserError(
            f"The task {name!r} has no training split; it can be measured directly only."
        )
    config = choosing.config
    own = config.validation_split if _has_both(config, recipe.choose_on_test) else None
    if own is None:
        _hold_out(choosing, name, recipe.held_out_share, seed, draws)
        own = HELD_OUT
    choosing.set_config("validation_split", own)
    choosing.set_config("test_split", None)
    documents = choosing.training_docs()
    cap = recipe.max_training_items
    chosen = draw_items(len(documents), cap, draws, seed, "training items", name)
    count, cap = len(choosing.eval_docs), recipe.max_validation_items
    return Splits(
        test=test,
        choosing=choosing,
        training=[documents[at] for at in chosen],
        choosing_split=own,
        choosing_items=sorted(draw_items(count, cap, draws, seed, "choosing items", name)),
    )


def _has_both(config, may_be_the_same: bool) -> bool:
    apart = may_be_the_same or config.validation_split != config.test_split
    return bool(config.validation_split and config.test_split and apart)


def _hold_out(task, name: str, share: float, seed: int, draws: Draws) -> None:
    """Move a drawn share of the raw training rows into a split of their own."""
    rows = task.dataset[task.config.training_split]
    order = permute_items(len(rows), draws, seed, "held out", name)
    if draws == "published":  # both shares are rounded down, and a permutation is not sorted
        first = int((1 - share) * len(rows))
        kept, held_out = order[:first], order[first : first + int(share * len(rows))]
    else:
        count = max(1, round(share * len(rows)))
        held_out, kept = np.sort(order[:count]), np.sort(order[count:])
    task.dataset[HELD_OUT] = rows.select(held_out)
    task.dataset[task.config.training_split] = rows.select(kept)
