"""Whether two numbers agree: the same test for every published number."""

import math
from collections.abc import Iterable

import pandas as pd

from workflow_scripts.render.frames import Columns
from workflow_scripts.render.text import is_known

AGREES, DIFFERS, NOT_COMPARABLE = "agrees", "differs", "not comparable"
LIMIT = 2.0  # standard errors of the difference, from which on two numbers differ
BY_LUCK = math.erfc(LIMIT / math.sqrt(2))  # how often they do although nothing differs
GENERATED = "the models and questions here are generated ones"
NOT_MEASURED = "it was not measured here"
COLUMNS = Columns(
    {
        **{"source": "text", "of": "maybe", "item": "text", "metric": "text"},
        **{"published": "number", "published_stderr": "number", "ours": "number"},
        **{"ours_stderr": "number", "n": "whole", "difference": "number", "z": "number"},
        **{"verdict": "text", "because": "maybe"},
    }
)


def verdict(
    published: float,
    published_stderr: float | None,
    ours: float | None,
    ours_stderr: float | None,
    why_not: str | None,
    *,
    printed_to: float,
) -> dict:
    """Difference, z and verdict; `why_not` is what forbids the comparison, or None.

    Where no standard error was printed and none follows from what was, the other run's own is as likely
    to be theirs. What rounding in print hides is no difference.
    """
    if not is_known(ours):
        return _refused(why_not or NOT_MEASURED)
    if why_not:
        return _refused(why_not)
    if not is_known(ours_stderr):
        return _refused("ours has no standard error")
    theirs = published_stderr if is_known(published_stderr) else ours_stderr
    difference = ours - published
    error = math.hypot(ours_stderr, theirs)
    if abs(difference) <= printed_to / 2 + 1e-12:
        z = 0.0
    else:
        z = difference / error if error else math.copysign(math.inf, difference)
    found = AGREES if abs(z) < LIMIT else DIFFERS
    return {"difference": difference, "z": z, "verdict": found, "because": None}


def within(published: float, low: float | None, high: float | None, why_not: str | None) -> dict:
    """A rank has no standard error: it agrees where it lies in our interval."""
    if why_not or not is_known(low) or not is_known(high):
        return _refused(why_not or NOT_MEASURED)
    found = AGREES if low <= published <= high else DIFFERS
    return {"difference": None, "z": None, "verdict": found, "because": None}


def _refused(because: str) -> dict:
    # A difference of what cannot be compared is no number.
    return {"difference": None, "z": None, "verdict": NOT_COMPARABLE, "because": because}


def as_table(rows: Iterable[dict]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(COLUMNS.named))
    numbers = [name for name, kind in COLUMNS.named.items() if kind in ("number", "whole")]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table
