"""Test whether a published number and ours agree, with the same test for every number."""

import math
from collections.abc import Iterable

import pandas as pd

from workflow_scripts.render.text import is_known

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
NOT_COMPARABLE = "not comparable"
JUDGED = (AGREES, DIFFERS, INCONCLUSIVE)
OTHER_PROTOCOL = "other protocol"  # measured with another protocol than the published number
LIMIT = 2.0  # two numbers differ from this many standard errors of the difference on
WITHIN = 1.645  # standard errors on each side of the 90% interval of an equivalence test (two tests at 5%)
POWER = 0.842  # standard errors beyond LIMIT of a difference that is detected with 80% power
NEARLY_AS_LIKELY = 1e-3  # fraction of float32 answers that may change; see docs/report.md
BY_LUCK = 0.05  # largest fraction of equal numbers with the verdict "differs"; see docs/report.md
GENERATED = "the models and questions here are generated ones"
NOT_MEASURED = "it was not measured here"
_NUMBERS = ["published", "published_stderr", "ours", "ours_stderr"]
_JUDGED = ["difference", "error", "z", "farthest", "smallest"]
_COLUMNS = ["source", "of", "item", "metric", *_NUMBERS, "n", *_JUDGED, "verdict", "because"]
NOTHING = dict.fromkeys(_JUDGED)


def verdict(
    published: float,
    published_stderr: float | None,
    ours: float | None,
    ours_stderr: float | None,
    why_not: str | None,
    *,
    printed_to: float,
    error: float | None = None,
) -> dict:
    """Compute the row of a published number and ours, with difference, z and verdict.

    `why_not` is the reason against a comparison, or None.

    `error` is the standard error of the difference between two runs on the same items, if known. Otherwise it is
    computed from both standard errors, and ours replaces a missing published one. A difference within the rounding
    of the published number (`printed_to`) counts as 0. `farthest` is the end of the difference's 90% interval that is
    farther from 0, `smallest` the difference that is detected with 80% power.
    """
    numbers = dict(zip(_NUMBERS, (published, published_stderr, ours, ours_stderr), strict=True))
    if why_not or not is_known(ours):
        return numbers | refuse(why_not or NOT_MEASURED)
    if error is None:
        if not is_known(ours_stderr):
            return numbers | refuse("ours has no standard error")
        error = math.hypot(
            ours_stderr, published_stderr if is_known(published_stderr) else ours_stderr
        )
    difference = ours - published
    z = 0.0
    if abs(difference) > printed_to / 2 + 1e-12:
        z = difference / error if error else math.copysign(math.inf, difference)
    return numbers | {
        "difference": difference,
        "error": error,
        "z": z,
        "farthest": abs(difference) + WITHIN * error,
        "smallest": (LIMIT + POWER) * error,
        "verdict": INCONCLUSIVE if abs(z) < LIMIT else DIFFERS,
        "because": None,
    }


def within(published: float, low: float | None, high: float | None, why_not: str | None) -> dict:
    """Return the verdict of a rank, which has no standard error: it differs if it is outside our interval."""
    if why_not or not is_known(low) or not is_known(high):
        return refuse(why_not or NOT_MEASURED)
    farthest = max(abs(low - published), abs(high - published))
    is_inside = low <= published <= high
    result = {"farthest": farthest, "verdict": INCONCLUSIVE if is_inside else DIFFERS}
    return NOTHING | result | {"because": None}


def refuse(because: str) -> dict:
    """Return the verdict of a number that cannot be compared and has no difference."""
    return NOTHING | {"verdict": NOT_COMPARABLE, "because": because}


def apply_margins(table: pd.DataFrame, margins: pd.Series) -> pd.DataFrame:
    """Change inconclusive verdicts to "agrees" where the 90% interval of the difference is within the margin."""
    agrees = (table["verdict"] == INCONCLUSIVE) & (table["farthest"] <= margins)
    return table.assign(verdict=table["verdict"].mask(agrees, AGREES))


def compute_repeat_error(n: int, step: float) -> float:
    """Compute the standard error of the difference between two evaluations of one model on the same n questions.

    No items are sampled, but the order of floating-point sums, which depends on device and library, changes answers
    of nearly equal likelihood: the fraction NEARLY_AS_LIKELY of them, in either direction, each by one `step` of the
    score. The error is at least one step, the resolution of the score.
    """
    return step * max(1.0, math.sqrt(NEARLY_AS_LIKELY * n))


def make_table(rows: Iterable[dict]) -> pd.DataFrame:
    """Build the table of compared numbers; columns that a row lacks are empty."""
    table = pd.DataFrame(rows, columns=_COLUMNS)
    numbers = [*_NUMBERS, "n", *_JUDGED]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table
