"""The paired test of sums over pieces, against SciPy and by how often it raises a false alarm."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from tests.unit.stats.random_scores import SEEDS
from workflow_scripts.stats.paired import paired_means, paired_ratio


@pytest.mark.parametrize("seed", SEEDS)
def test_of_pieces_of_one_size_it_is_the_paired_t_test(seed):
    generator = np.random.default_rng(seed)
    hard = generator.normal(40, 15, 30)
    first, second = hard + generator.normal(0, 1, 30), hard + generator.normal(0.5, 1, 30)
    found = paired_means(first, second, np.full(30, 8))
    theirs = ttest_rel(second, first)
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.difference / found.stderr == pytest.approx(theirs.statistic)
    assert found.difference == pytest.approx((second - first).mean() / 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_pieces_of_all_sizes_its_error_is_that_of_drawing_them_again(seed):
    generator = np.random.default_rng(seed)
    size = generator.integers(2, 60, 400)
    first = generator.normal(3, 1, 400) * size
    second = first + (0.1 + generator.normal(0, 0.3, 400)) * size
    found = paired_means(first, second, size)
    drawn = generator.integers(0, 400, (4000, 400))
    again = (second - first)[drawn].sum(1) / size[drawn].sum(1)
    assert found.difference == pytest.approx((second - first).sum() / size.sum())
    assert found.stderr == pytest.approx(again.std(), rel=0.1)


def test_texts_that_differ_by_chance_alone_are_called_different_as_often_as_it_says():
    generator = np.random.default_rng(7)
    size = generator.integers(5, 60, 40)
    alarms = []
    for _ in range(2000):
        first = generator.normal(3, 1, 40) * size
        alarms.append(paired_means(first, first + generator.normal(0, 0.3, 40) * size, size).p)
    assert np.mean(np.array(alarms) < 0.05) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_error_of_a_ratio_is_that_of_drawing_the_questions_again(seed):
    generator = np.random.default_rng(seed)
    first = (generator.random(500) < 0.4).astype(float)
    second = np.where(generator.random(500) < 0.8, first, generator.random(500) < 0.3)
    ratio, stderr = paired_ratio(first, second)
    drawn = generator.integers(0, 500, (4000, 500))
    again = second[drawn].sum(1) / first[drawn].sum(1)
    assert ratio == pytest.approx(second.sum() / first.sum())
    assert stderr == pytest.approx(again.std(), rel=0.1)
    assert paired_ratio(first, first) == (1.0, 0.0)
    assert np.isnan(paired_ratio(0 * first, second)[0])


def test_the_same_model_twice_and_a_single_piece():
    assert paired_means([3.0, 4.0], [3.0, 4.0], [2, 2]) == (0.0, 0.0, 1.0)
    assert paired_means([3.0], [4.0], [2]) == (0.5, None, None)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (([1.0], [1.0, 2.0], [1, 1]), "first has 1 pieces, second 2 and weights 2"),
        (([], [], []), "at least one"),
        (([1.0, 1.0], [1.0, 2.0], [1, 0]), "weights holds 0"),
    ],
)
def test_what_is_not_the_same_pieces_is_refused(pieces, words):
    with pytest.raises(ValueError, match=words):
        paired_means(*pieces)
