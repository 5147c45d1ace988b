"""The numbers of each chapter, and what is told of them: no more than they show."""

import pandas as pd
import pytest

from tests.unit.stories import story
from workflow_scripts.studies.harmony.chapter import HARMONY
from workflow_scripts.studies.prompts.chapter import PROMPTS


def agreement(difference: float, low: float, high: float) -> pd.DataFrame:
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
def test_agreement_rises_or_falls_only_where_its_interval_says_so(difference, low, high, expected):
    values = HARMONY.values({"harmony_agreement": agreement(difference, low, high)})
    text = story(HARMONY, values)
    assert [word for word in ("raises", "lowers", "includes zero") if word in text] == [expected]
    few = story(HARMONY, {**values, "harmony.direct.pairs_differ": 0, "harmony.direct.pairs": 1})
    assert expected not in few, "of two models no agreement of rankings is told"


@pytest.mark.parametrize(("p", "greatest"), [(1e-5, -10), (0.4, None)])
def test_prompt_runs_tell_of_the_greatest_significant_step_alone(p, greatest):
    names = ["run", "micro", "floor", "p", "difference", "after", "changed", "format_met"]
    rows = [("run1", 0.3, 0.26, None, None, None, "", 0.0)]
    rows += [("run2", 0.2, 0.26, p, -0.1, "run1", "shots", 0.9)]
    table = pd.DataFrame(rows, columns=names)
    table = table.assign(model="a/b", variant=None, n=100, micro_stderr=0.01)
    values = PROMPTS.values({"prompt_runs": table})
    assert values.get("prompts.step") == (greatest and pytest.approx(greatest))
    text = story(PROMPTS, values)
    assert ("−10.0 percentage points, from run1 to run2 (shots)" in text) == bool(greatest)
