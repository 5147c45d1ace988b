"""Where one more value lies: as often as it says."""

import numpy as np
import pytest

from workflow_scripts.stats.prediction import one_more


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_one_more_value_lies_there_as_often_as_it_says(n, share):
    drawn = np.random.default_rng(n).normal(3, 2, (4000, n + 1))
    inside = [
        abs(row[-1] - mean) <= far for row in drawn for mean, far in [one_more(row[:-1], share)]
    ]
    assert np.mean(inside) == pytest.approx(share, abs=0.03)


def test_of_one_value_nobody_knows_how_far_the_next_may_be():
    assert one_more([0.4]) == (0.4, None)
    with pytest.raises(ValueError, match="values is empty"):
        one_more([])
