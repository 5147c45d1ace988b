"""The numbers of each chapter, and its text: no more than the numbers show."""

import pandas as pd
import pytest

from tests.unit.stories import write_story
from workflow_scripts.studies.harmony.chapter import HARMONY


def make_agreement(difference: float, low: float, high: float) -> pd.DataFrame:
    rows = [
        ("direct", "mean", 0.3, -0.1, 0.7),
        ("train_before_test", "mean", 0.3 + difference, 0.1, 0.9),
        ("train_before_test", "difference_from_direct", difference, low, high),
    ]
    names = ["protocol", "statistic", "value", "families_low", "families_high"]
    return pd.DataFrame(rows, columns=names).assign(items_low=None, items_high=None)


@pytest.mark.parametrize(
    ("difference", "low", "high", "expected"),
    [
        (0.3, 0.1, 0.5, "raises"),
        (-0.3, -0.5, -0.1, "lowers"),
        (-0.1, -0.3, 0.2, "includes zero"),
    ],
)
def test_agreement_change_follows_interval(difference, low, high, expected):
    values = HARMONY.values({"harmony_agreement": make_agreement(difference, low, high)})
    text = write_story(HARMONY, values)
    assert [word for word in ("raises", "lowers", "includes zero") if word in text] == [expected]
    few = write_story(
        HARMONY, {**values, "harmony.direct.pairs_differ": 0, "harmony.direct.pairs": 1}
    )
    assert expected not in few, "of two models no agreement of rankings is told"
