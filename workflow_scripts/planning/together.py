"""How much trainings that share their steps put into a row, and how many rows that makes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workflow_scripts.settings.harmony import Together


@dataclass(frozen=True)
class Steps:
    """Of one training: how many, and the tokens of each."""

    count: int
    tokens: float


def at_once_of(together: Together, trainings: int) -> int:
    return trainings if together == "auto" else min(together, trainings)


def rows_together(trainings: Sequence[Steps], at_once: int, row: float) -> int:
    """Rows of up to so many tokens, if `at_once` trainings share a step and the next begins where one ends."""
    waiting, going_on, rows = list(trainings), list[Steps](), 0
    while waiting or going_on:
        room = at_once - len(going_on)
        going_on, waiting = going_on + waiting[:room], waiting[room:]
        steps = min(one.count for one in going_on)
        tokens = sum(one.tokens for one in going_on)
        rows += steps * max(1, math.ceil(tokens / row))
        left = [Steps(one.count - steps, one.tokens) for one in going_on]
        going_on = [one for one in left if one.count]
    return rows
