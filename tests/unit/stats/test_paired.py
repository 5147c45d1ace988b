"""McNemar's exact test against hand-counted cases and the binomial sum itself."""

from math import comb

import pytest

from workflow_scripts.stats.paired import mcnemar


def test_only_the_questions_that_differ_count():
    first = [True, True, False, False, False, True]
    second = [True, False, True, True, True, True]
    found = mcnemar(first, second)
    assert (found.won, found.lost) == (3, 1)
    assert found.p == pytest.approx(2 * (comb(4, 0) + comb(4, 1)) / 2**4)
    agreeing = [True] * 100 + [False] * 100
    assert mcnemar(first + agreeing, second + agreeing) == found


def test_the_formula_holds_and_sides_are_alike():
    for won, lost in [(0, 1), (5, 0), (10, 3), (7, 7), (40, 25)]:
        m, k = won + lost, min(won, lost)
        expected = min(1.0, 2 * sum(comb(m, i) for i in range(k + 1)) / 2**m)
        first = [False] * won + [True] * lost
        second = [True] * won + [False] * lost
        assert mcnemar(first, second).p == pytest.approx(expected)
        assert mcnemar(second, first).p == pytest.approx(expected)


def test_nothing_changed_is_no_evidence():
    assert mcnemar([True, False], [True, False]).p == 1.0
    assert mcnemar([], []).p == 1.0


def test_lists_of_different_length_are_refused():
    with pytest.raises(ValueError, match="same length"):
        mcnemar([True], [True, False])
