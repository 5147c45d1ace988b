"""Is one model better than another: the three questions, and what is asked in vain."""

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp

from tests.unit.stats.random_scores import format_with_errors, random_scores
from tests.unit.studies.harmony.harmony_study import MODELS, SETTINGS, grids, study, without
from workflow_scripts.core.errors import UserError
from workflow_scripts.stats.significance import holm
from workflow_scripts.studies.ranking.frame import OVERALL
from workflow_scripts.studies.ranking.separate import (
    compare_models,
    compare_pair,
    format_columns,
    read_names,
)

FIRST, SECOND = MODELS[5], MODELS[0]


def compare(scores, *names):
    return compare_models({"harmony": grids(scores)}, {"harmony": SETTINGS}, names)


def test_each_question_has_its_own_error_and_single_tasks_are_corrected_together():
    scores = random_scores(3, models=2, tasks=6, digits=6)
    pair = format_with_errors(scores, scores * 0 + 0.3, correlation=0.4, training=0.2)
    rows = list(compare_pair(pair, trains=True))
    items, trainings, tasks = (row for row in rows if row["task"] == OVERALL)
    apart = scores.iloc[0] - scores.iloc[1]
    assert items["difference"] == trainings["difference"] == pytest.approx(apart.mean())
    assert items["stderr"] == pytest.approx(0.3 * np.sqrt(2 * 0.6 / 6))
    assert trainings["stderr"] == pytest.approx(np.hypot(items["stderr"], 0.2 * np.sqrt(2 / 6)))
    assert items["probability"] == pytest.approx(norm.cdf(apart.mean() / items["stderr"]))
    theirs = ttest_1samp(apart, 0).confidence_interval()
    assert (tasks["low"], tasks["high"]) == pytest.approx((theirs.low, theirs.high))
    single = rows[3:]
    z = [row["z"] for row in single]
    assert [row["p_holm"] for row in single] == pytest.approx(holm(2 * norm.sf(np.abs(z))))


def test_both_are_compared_under_each_protocol_on_the_tasks_that_both_have():
    table = compare(without(study(), FIRST, "rte", "direct"), FIRST, SECOND)
    overall = table[table["task"] == OVERALL]
    assert overall.groupby("protocol")["tasks"].first().to_dict() == {
        "direct": 4,
        "train-before-test": 5,
    }
    assert set(overall["scores"]) == {"own scores"}
    swapped = compare(without(study(), FIRST, "rte", "direct"), SECOND, FIRST)
    assert (swapped["difference"] == -table["difference"]).all()
    verdicts = format_columns(table, (FIRST, SECOND))["Verdict"].dropna()
    assert set(verdicts) <= {f"{FIRST} is better", f"{SECOND} is better", "not settled"}
    assert f"{FIRST} is better" in set(verdicts)


@pytest.mark.parametrize("said", ["", "one", "a/b a/b", "a b c"])
def test_two_different_names_are_expected(said):
    with pytest.raises(UserError, match="expected two different models"):
        read_names(said)


def test_a_model_without_scores_is_named():
    assert read_names("a/b, c/d") == ("a/b", "c/d")
    with pytest.raises(UserError, match=r"Llama-9M'.*Did you mean"):
        compare(study(), FIRST, "miniature/Llama-9M")
