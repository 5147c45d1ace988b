"""Judge whether published numbers and ours agree, with the same test for every number."""

import math

import numpy as np
import pandas as pd

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
NOT_COMPARABLE = "not comparable"
COMPARABLE_VERDICTS = (AGREES, DIFFERS, INCONCLUSIVE)  # the verdicts on comparable numbers
OTHER_PROTOCOL = "other protocol"  # measured with another protocol than the published number
DIFFERENCE_Z = 2.0  # two numbers differ from this many standard errors of the difference on
EQUIVALENCE_Z = 1.645  # standard errors on each side of the 90% interval of an equivalence test (two tests at 5%)
POWER_Z = 0.842  # a difference of DIFFERENCE_Z + POWER_Z standard errors is detected with 80% power
# Fraction of float32 answers that another device may change; see docs/report.md.
ANSWER_CHANGE_RATE = 1e-3
# Largest fraction of equal numbers with the verdict "differs"; see docs/report.md.
MAX_FALSE_ALARM_RATE = 0.05
GENERATED_WORLD = "the models and questions here are generated ones"
NOT_MEASURED = "it was not measured here"
_NUMBERS = ["published", "published_stderr", "ours", "ours_stderr"]
_RESULTS = ["difference", "error", "z", "smallest"]
_COLUMNS = ["source", "of", "item", "metric", *_NUMBERS, "n", *_RESULTS, "verdict", "because"]


def judge_numbers(rows: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Compare published numbers with ours: the difference, z and a verdict for each row.

    A row has the published number, ours, their standard errors, and `because` if they cannot be compared. `error` is
    the standard error of the difference between two runs on the same items, if known. Otherwise it is computed from
    both standard errors, and ours replaces a missing published one. A difference within the rounding of the published
    number to multiples of `printed_to` counts as 0. Numbers agree if the 90% interval of their difference is within
    the margin. `smallest` is the difference that is detected with 80% power.
    """
    table = rows.reindex(columns=[*_COLUMNS, "printed_to"])
    numbers = [*_NUMBERS, "n", *_RESULTS, "printed_to"]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    stderr = table["ours_stderr"]
    error = table["error"].fillna(np.hypot(stderr, table["published_stderr"].fillna(stderr)))
    because = table["because"].astype(object)
    because = because.mask(because.isna() & table["ours"].isna(), NOT_MEASURED)
    because = because.mask(because.isna() & error.isna(), "ours has no standard error")
    difference = (table["ours"] - table["published"]).where(because.isna())
    error = error.where(difference.notna())
    z = (difference / error).mask(difference.abs() <= table["printed_to"] / 2 + 1e-12, 0.0)
    verdict = np.select(
        [
            because.notna(),
            z.abs() >= DIFFERENCE_Z,
            difference.abs() + EQUIVALENCE_Z * error <= margin,
        ],
        [NOT_COMPARABLE, DIFFERS, AGREES],
        INCONCLUSIVE,
    )
    judged = {
        "difference": difference,
        "error": error,
        "z": z,
        "smallest": (DIFFERENCE_Z + POWER_Z) * error,
    }
    return table.assign(**judged, verdict=verdict, because=because)[_COLUMNS]


def compute_repeat_error(n: int, step: float) -> float:
    """Compute the standard error of the difference between two evaluations of one model on the same n questions.

    No items are sampled, but the order of floating-point sums, which depends on device and library, changes answers
    of nearly equal likelihood: the fraction ANSWER_CHANGE_RATE of all, in either direction, each by one `step` of the
    score. The error is at least one step, the resolution of the score.
    """
    return step * max(1.0, math.sqrt(ANSWER_CHANGE_RATE * n))
