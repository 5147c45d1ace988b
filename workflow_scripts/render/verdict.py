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
NOTHING = dict.fromkeys(("difference", "error", "z", "farthest", "smallest"))
_NUMBERS = ["published", "published_stderr", "ours", "ours_stderr"]
_JUDGED = ["difference", "error", "z", "farthest", "smallest"]
_COLUMNS = ["source", "of", "item", "metric", *_NUMBERS, "n", *_JUDGED, "verdict", "because"]


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
    """Difference, z and verdict; `why_not` is what forbids the comparison, or None.

    `error` is the standard error of the difference, where it is known how far two runs lie apart that
    were asked the same questions: then neither's sampling of questions counts. Elsewhere both do, and
    where none was printed and none follows from what was, the other run's own is as likely to be theirs.
    What rounding in print hides is no difference.
    """
    if not is_known(ours):
        return _refused(why_not or NOT_MEASURED)
    if why_not:
        return _refused(why_not)
    if error is None:
        if not is_known(ours_stderr):
            return _refused("ours has no standard error")
        theirs = published_stderr if is_known(published_stderr) else ours_stderr
        error = math.hypot(ours_stderr, theirs)
    difference = ours - published
    if abs(difference) <= printed_to / 2 + 1e-12:
        z = 0.0
    else:
        z = difference / error if error else math.copysign(math.inf, difference)
    return judged(difference, error, z) | {"because": None}


def judged(difference: float, error: float, z: float) -> dict:
    """Whether a difference was shown, how large it may be, and how large a one would have been shown.

    `farthest` is the end of the difference's 90% interval that lies farther from 0, `smallest` what would
    have been shown to differ four times in five.
    """
    found = {"difference": difference, "error": error, "z": z}
    found |= {"farthest": abs(difference) + WITHIN * error, "smallest": (LIMIT + POWER) * error}
    return found | {"verdict": INCONCLUSIVE if abs(z) < LIMIT else DIFFERS}


def apply_margins(table: pd.DataFrame, margins: pd.Series) -> pd.DataFrame:
    """What was not shown to differ agrees where it surely lies within its margin."""
    agrees = (table["verdict"] == INCONCLUSIVE) & (table["farthest"] <= margins)
    return table.assign(verdict=table["verdict"].mask(agrees, AGREES))


def compute_repeat_error(n: int, step: float) -> float:
    """The error of a difference between two evaluations of one model, of the same n questions.

    Nothing is drawn. The order of sums, which is a device's and a library's own, turns answers that are
    nearly as likely as another; with a share of them turned, either way, and each worth a step, the
    difference has this error. It is a step at least: no score lies between.
    """
    return step * max(1.0, math.sqrt(NEARLY_AS_LIKELY * n))


def within(published: float, low: float | None, high: float | None, why_not: str | None) -> dict:
    """A rank has no standard error: it differs where it lies outside of our interval."""
    if why_not or not is_known(low) or not is_known(high):
        return _refused(why_not or NOT_MEASURED)
    found = INCONCLUSIVE if low <= published <= high else DIFFERS
    farthest = max(abs(low - published), abs(high - published))
    return NOTHING | {"farthest": farthest, "verdict": found, "because": None}


def _refused(because: str) -> dict:
    # A difference of what cannot be compared is no number.
    return NOTHING | {"verdict": NOT_COMPARABLE, "because": because}


def make_table(rows: Iterable[dict]) -> pd.DataFrame:
    """Make the table of compared numbers, whatever columns a row lacks."""
    table = pd.DataFrame(rows, columns=_COLUMNS)
    numbers = [*_NUMBERS, "n", *_JUDGED]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table
