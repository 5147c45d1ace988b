"""Whether two numbers agree: the same test for every published number."""

import math
from collections.abc import Iterable

import pandas as pd

from workflow_scripts.render.text import is_known

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
NOT_COMPARABLE = "not comparable"
JUDGED = (AGREES, DIFFERS, INCONCLUSIVE)
OTHER_PROTOCOL = "other protocol"  # measured, but not as the published number was
LIMIT = 2.0  # standard errors of the difference, from which on two numbers differ
WITHIN = 1.645  # standard errors either way of the 90% interval that a margin has to hold (two tests at 5%)
POWER = 0.842  # and these beyond the limit: so large a difference is shown four times in five
NEARLY_AS_LIKELY = 1e-3  # of a model's answers in float32; docs/report.md says why
BY_LUCK = (
    0.05  # at most so many do although nothing differs; docs/report.md says how that was found
)
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
    """Compute the difference, z and the verdict; `why_not` is what forbids the comparison, or None.

    `error` is the standard error of the difference where that between two runs on the same items is known. Elsewhere
    the sampling of items in both runs counts, and ours stands for both where none was published. A difference that
    rounding in print may hide is none. `farthest` is the end of the difference's 90% interval that is farther from 0,
    `smallest` the difference that would have been shown with a power of 80%.
    """
    if why_not or not is_known(ours):
        return refuse(why_not or NOT_MEASURED)
    if error is None:
        if not is_known(ours_stderr):
            return refuse("ours has no standard error")
        error = math.hypot(
            ours_stderr, published_stderr if is_known(published_stderr) else ours_stderr
        )
    difference = ours - published
    z = 0.0
    if abs(difference) > printed_to / 2 + 1e-12:
        z = difference / error if error else math.copysign(math.inf, difference)
    return {
        "difference": difference,
        "error": error,
        "z": z,
        "farthest": abs(difference) + WITHIN * error,
        "smallest": (LIMIT + POWER) * error,
        "verdict": INCONCLUSIVE if abs(z) < LIMIT else DIFFERS,
        "because": None,
    }


def within(published: float, low: float | None, high: float | None, why_not: str | None) -> dict:
    """Give the verdict of a rank, which has no standard error: it differs where it lies outside of our interval."""
    if why_not or not is_known(low) or not is_known(high):
        return refuse(why_not or NOT_MEASURED)
    farthest = max(abs(low - published), abs(high - published))
    is_inside = low <= published <= high
    result = {"farthest": farthest, "verdict": INCONCLUSIVE if is_inside else DIFFERS}
    return NOTHING | result | {"because": None}


def refuse(because: str) -> dict:
    """Return the verdict of what cannot be compared, and so has no difference."""
    return NOTHING | {"verdict": NOT_COMPARABLE, "because": because}


def apply_margins(table: pd.DataFrame, margins: pd.Series) -> pd.DataFrame:
    """Let what was not shown to differ agree where it surely lies within its margin."""
    agrees = (table["verdict"] == INCONCLUSIVE) & (table["farthest"] <= margins)
    return table.assign(verdict=table["verdict"].mask(agrees, AGREES))


def compute_repeat_error(n: int, step: float) -> float:
    """Compute the error of a difference between two evaluations of one model, of the same n questions.

    Nothing is sampled. The order of sums, which depends on device and library, changes answers that are nearly as
    likely as another; with a share of them changed, either way, and each worth a step, the difference has this error.
    It is a step at least: no score lies between.
    """
    return step * max(1.0, math.sqrt(NEARLY_AS_LIKELY * n))


def make_table(rows: Iterable[dict]) -> pd.DataFrame:
    """Make the table of compared numbers, whatever columns a row lacks."""
    table = pd.DataFrame(rows, columns=_COLUMNS)
    numbers = [*_NUMBERS, "n", *_JUDGED]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table
