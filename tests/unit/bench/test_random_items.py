"""Scores on a few random items, corrected by what other models answered to all."""

import numpy as np
import pytest

from bench.random_items import corrected, missed

MODELS, ITEMS, ASKED = 80, 300, 40


def world(seed):
    """Answers that follow from how hard an item is and how able a model."""
    generator = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(generator.normal(0, 2, ITEMS) - generator.normal(0, 1, (MODELS, 1))))
    return (generator.random((MODELS, ITEMS)) < chance).astype(float)


def test_the_correction_is_right_on_average_and_less_off_where_other_models_foretell():
    whole = world(3)
    known, new = np.split(whole, 2)
    off = []
    for seed in range(400):
        asked = np.random.default_rng(seed).choice(ITEMS, ASKED, replace=False)
        plain, better = new[:, asked].mean(axis=1), corrected(known, asked, new[:, asked])
        off.append([plain - new.mean(axis=1), better - new.mean(axis=1)])
    plain, better = np.array(off).transpose(1, 0, 2)
    assert np.abs(better.mean(axis=0)).max() < 0.015
    assert (better**2).mean() < 0.8 * (plain**2).mean()


def test_answers_that_tell_nothing_of_others_make_it_no_worse_than_a_few_percent():
    whole = (np.random.default_rng(5).random((MODELS, ITEMS)) < 0.5).astype(float)
    score, fixed, *_ = missed(whole, 100, draws=60)
    assert fixed == pytest.approx(score, rel=0.15)
