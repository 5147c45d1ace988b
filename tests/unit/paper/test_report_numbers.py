"""The numbers of each chapter, and what is told of them: no more than they show."""

import pandas as pd
import pytest

from tests.unit.stories import story
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.harmony.chapter import HARMONY
from workflow_scripts.studies.prompts.chapter import PROMPTS
from workflow_scripts.studies.suite.chapter import SUITE


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
        (-0.3, -0.5, -0.1, "falls"),
        (-0.1, -0.3, 0.2, "holds zero"),
    ],
)
def test_agreement_rises_or_falls_only_where_its_interval_says_so(difference, low, high, expected):
    values = HARMONY.values({"harmony_agreement": agreement(difference, low, high)})
    text = story(HARMONY, values)
    assert [word for word in ("raises", "falls", "holds zero") if word in text] == [expected]
    few = story(HARMONY, {**values, "harmony.direct.pairs_differ": 0, "harmony.direct.pairs": 1})
    assert expected not in few, "of two models no agreement of rankings is told"


@pytest.mark.parametrize(("z", "is_clear"), [(1.9, False), (2.1, True)])
def test_a_score_below_its_floor_shows_nothing_and_one_above_is_named(z, is_clear):
    row = {"subject": "micro", "model": "a/b", "variant": "", "n": 100, "floor": 0.3}
    row |= {"em": 0.1, "qem": 0.2, "acc": 0.3 + z / 100, "em_z": -9.0, "qem_z": -9.0, "acc_z": z}
    values = CHUNKING.values({"mmlu_by_subject": pd.DataFrame([row])})
    text = story(CHUNKING, values)
    assert ("None exceeds it" in text) != is_clear and ("(best: a/b" in text) == is_clear
    assert values["mmlu.qem_gain"] == pytest.approx(10) and "removes articles" in text


def test_the_fastest_plan_is_named_with_its_model():
    plans = {"model": "a/b", "variant": ["@k2m1", "@k2m2"], "token_faster": [0.8, 0.9], "batch": 2}
    plans |= {"devices": 1, "way": "fused"}
    values = CHUNKING.values({"chunking_latency": pd.DataFrame(plans)})
    assert (values["chunking.fastest"], values["chunking.fastest_speedup"]) == ("a/b@k2m2", 0.9)
    assert values["chunking.fastest_slower"] == 2


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


@pytest.mark.parametrize(
    ("second", "words"), [(0.5, "significantly lower"), (0.59, "no significant difference")]
)
def test_the_suite_names_its_first_and_how_sure_its_lead_is(second, words):
    rows = [("a/first", 0.6, 0.0), ("a/second", second, 0.6 - second), ("a/part", None, None)]
    table = pd.DataFrame(rows, columns=["model", "average", "behind"])
    table = table.assign(behind_stderr=0.014, flag=[None, "copied", None], precision="float32")
    values = SUITE.values({"suite_leaderboard": table})
    assert [values[f"suite.{name}"] for name in ("rows", "ranked", "flagged")] == [3, 2, 1]
    assert values["suite.first"] == "a/first (float32)"
    assert words in story(SUITE, values)
