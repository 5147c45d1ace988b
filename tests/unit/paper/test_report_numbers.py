"""The numbers of each chapter, and what is told of them: no more than they show."""

import json

import pandas as pd
import pytest

from tests.unit.stories import numbers_of, story
from workflow_scripts.core.errors import UserError
from workflow_scripts.paper.numbers import REPRODUCTION
from workflow_scripts.paper.studies import STUDIES
from workflow_scripts.render.numbers import Numbers, percent, read_numbers, write_numbers
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.harmony.chapter import HARMONY
from workflow_scripts.studies.prompts.chapter import PROMPTS
from workflow_scripts.studies.suite.chapter import SUITE


def agreement(difference: float, low: float, high: float, items=(None, None)) -> pd.DataFrame:
    def row(protocol, statistic, value, low=None, high=None):
        return {
            **{"protocol": protocol, "statistic": statistic, "value": value},
            **{"families_low": low, "families_high": high},
            **{"items_low": items[0], "items_high": items[1]},
        }

    return pd.DataFrame(
        [
            row("direct", "mean", 0.3, -0.1, 0.7),
            row("train_before_test", "mean", 0.3 + difference, 0.1, 0.9),
            row("train_before_test", "difference_from_direct", difference, low, high),
        ]
    )


@pytest.mark.parametrize(
    ("difference", "low", "high", "expected"),
    [
        (0.3, 0.1, 0.5, "raises"),
        (-0.3, -0.5, -0.1, "falls"),
        (0.3, -0.1, 0.7, "holds zero"),
        (-0.1, -0.3, 0.2, "holds zero"),
    ],
)
def test_agreement_rises_or_falls_only_where_its_interval_says_so(difference, low, high, expected):
    values = HARMONY.values({"harmony_agreement": agreement(difference, low, high)})
    text = story(HARMONY, values)
    assert [word for word in ("raises", "falls", "holds zero") if word in text] == [expected]
    assert "test items" not in text
    table = agreement(difference, low, high, items=(-0.02, 0.51))
    assert "−0.02 to 0.51" in story(HARMONY, HARMONY.values({"harmony_agreement": table}))


def test_of_two_models_no_agreement_of_rankings_is_told():
    values = HARMONY.values({"harmony_agreement": agreement(0.3, 0.1, 0.5)})
    about = {"harmony.direct.pairs_differ": 0}
    two, three = (story(HARMONY, {**values, **about, "harmony.direct.pairs": n}) for n in (1, 3))
    assert "raises" in three and "raises" not in two
    assert "takes more of them" in two
    assert "differ significantly: 0 of 1" in two and "differ significantly: 0 of 3" in three


def pruning(best: float, whole: float) -> pd.DataFrame:
    rows = [("1, 2", best), ("5", 4 * whole), ("none", whole)]
    return pd.DataFrame(
        {"left_out": name, "perplexity": value, "perplexity_stderr": 1.0} for name, value in rows
    )


@pytest.mark.parametrize(("best", "costs"), [(101.0, "layers 1, 2"), (900.0, "layer 5")])
def test_the_layers_that_cost_least_are_named(best, costs):
    values = CHUNKING.values({"chunking_pruning": pruning(best, 100.0)})
    assert values["chunking.pruned_z"] == pytest.approx((min(best, 400) - 100) / 2**0.5)
    assert f"the {costs} costs" in story(CHUNKING, values)


def mmlu(acc_z: float, em: float = 0.2) -> pd.DataFrame:
    row = {"subject": "micro", "model": "a/b", "variant": "", "n": 100, "floor": 0.3}
    scores = {"em": em, "qem": 0.2, "acc": 0.3 + acc_z / 100}
    return pd.DataFrame([{**row, **scores, "em_z": -9.0, "qem_z": -9.0, "acc_z": acc_z}])


def test_a_score_below_its_floor_shows_nothing_and_one_above_is_named():
    below = story(CHUNKING, CHUNKING.values({"mmlu_by_subject": mmlu(1.9)}))
    assert "None clears it" in below and "best:" not in below
    above = story(CHUNKING, CHUNKING.values({"mmlu_by_subject": mmlu(2.1)}))
    assert "None clears it" not in above
    assert "(best: a/b, 0.321)" in above


def test_the_published_reading_is_blamed_only_where_it_adds_something():
    gains = CHUNKING.values({"mmlu_by_subject": mmlu(0, em=0.1)})
    assert gains["mmlu.qem_gain"] == pytest.approx(10) and gains["mmlu.qem_gain_of"] == "a/b"
    assert "forgives" in story(CHUNKING, gains)
    assert "forgives" not in story(CHUNKING, CHUNKING.values({"mmlu_by_subject": mmlu(0)}))


def latency(*faster: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **{"model": "a/b", "plan": f"k2m{at}", "variant": f"@k2m{at}-residual-noadapters"},
            **{"aggregation": "residual", "adapters": None, "batch": 2, "devices": 1},
            **{"way": "fused", "token_faster": value, "token_seconds": 1 / value},
        }
        for at, value in enumerate(faster, start=1)
    )


def test_plans_and_checkpoints_are_told_of_apart_and_by_their_model_where_there_are_several():
    slow = CHUNKING.values({"chunking_latency": latency(0.8, 0.9)})
    assert (slow["chunking.fastest_speedup"], slow["chunking.fastest_slower"]) == (0.9, 2)
    alone = latency(1.8, 1.1)
    assert "adapters" not in story(CHUNKING, CHUNKING.values({"chunking_latency": alone}))
    trained = alone.assign(variant="@k2m1", aggregation="mlp.residual", adapters="adapters")
    values = CHUNKING.values({"chunking_latency": pd.concat([alone, trained])})
    assert (values["chunking.fastest"], values["chunking.trained"]) == ("k2m1", "@k2m1")
    assert "adapters" in story(CHUNKING, values)
    two = {"chunking_latency": pd.concat([alone, latency(2.5).assign(model="a/c")])}
    assert CHUNKING.values(two)["chunking.fastest"] == "k2m1 of a/c"


def runs(*rows) -> pd.DataFrame:
    names = ["run", "micro", "floor", "p", "difference", "after", "changed", "format_met"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(model="a/b", variant=None, n=100, micro_stderr=0.01)


@pytest.mark.parametrize(("p", "greatest"), [(1e-5, -10), (0.4, None)])
def test_prompt_runs_tell_of_the_greatest_significant_step_alone(p, greatest):
    first = ("run1", 0.3, 0.26, None, None, None, "", 0.1)
    table = runs(first, ("run2", 0.2, 0.26, p, -0.1, "run1", "shots", 0.2))
    values = PROMPTS.values({"prompt_runs": table})
    assert values.get("prompts.step") == (greatest and pytest.approx(greatest))
    text = story(PROMPTS, values)
    assert ("−10.0 percentage points, of run2 (shots)" in text) == bool(greatest)
    assert ("none of 1 changed" in text) == (greatest is None)


def test_the_asked_format_is_told_from_the_least_run_to_the_most():
    table = runs(
        ("run1", 0.01, 0.26, None, None, None, "", 0.3),
        ("run2", 0.02, 0.26, None, None, None, "", 0.0),
        ("run3", 0.3, 0.26, None, None, None, "", 0.9),
        ("run4", 0.4, 0.26, None, None, None, "", float("nan")),  # by log-likelihood
    )
    text = story(PROMPTS, PROMPTS.values({"prompt_runs": table}))
    assert "between 0% (run2) and 90% (run3)" in text
    text = story(PROMPTS, PROMPTS.values({"prompt_runs": table[table["run"] == "run2"]}))
    assert "Of each run's outputs 0%" in text


def reproduction(agree: int, differ: int, refused: int) -> pd.DataFrame:
    rows = [("agrees", 0.5, None)] * agree + [("differs", 3.0, None)] * differ
    rows += [("not comparable", None, "it was not measured here")] * refused
    table = pd.DataFrame(rows, columns=["verdict", "z", "because"])
    return table.assign(source="mmlu_baseline", of="a/b")


def test_reproduction_counts_agreeing_differing_and_luck():
    values = REPRODUCTION.values({"reproduction": reproduction(95, 5, 20)})
    counted = [values[f"published.{name}"] for name in ("comparable", "agree", "differ", "refused")]
    assert counted == [100, 95, 5, 20]
    assert values["published.by_luck"] == 5
    text = story(REPRODUCTION, values)
    assert "it was not measured here (20)" in text and "None of them" not in text
    values = REPRODUCTION.values({"reproduction": reproduction(0, 0, 20)})
    assert "None of them" in story(REPRODUCTION, values)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.key)
def test_without_any_table_nothing_is_told(study):
    assert study.values({}) == {}
    assert story(study, {}) == ""


def test_numbers_go_to_json_and_to_latex_and_come_back(tmp_path):
    values = {"run.items": 14_042, "run.devices": "a & b_c@k2m12", "prompts.lowest": 0.25}
    numbers = numbers_of({**values, "mmlu.floor": 0.3})
    json_path, tex = tmp_path / "numbers.json", tmp_path / "numbers.tex"
    write_numbers(numbers, json_path, tex)
    assert {n.name: n for n in read_numbers(json_path).values()} == dict(numbers.items())
    texts = {name: number["text"] for name, number in json.loads(json_path.read_text()).items()}
    assert (texts["run.items"], texts["mmlu.floor"]) == ("14,042", "0.300")
    text = tex.read_text()
    assert r"\defval{prompts.lowest}{25\%}% lowest share of right answers" in text
    assert r"\defval{run.devices}{a \& b\_c@k2m12}" in text


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_number_that_is_none_or_nothing_finite_is_not_there(value):
    numbers = numbers_of({"mmlu.floor": value})
    assert "mmlu.floor" not in numbers
    with pytest.raises(UserError, match=r"no number 'mmlu\.floor'"):
        numbers["mmlu.floor"]
    with pytest.raises(ValueError, match="twice"):
        Numbers([*numbers.values(), *numbers.values()])


def test_nearly_all_and_nearly_none_do_not_round_to_all_and_none():
    shares = [percent(x) for x in (0, 0.001, 0.25, 0.999, 1)]
    assert shares == ["0%", "0.1%", "25%", "99.9%", "100%"]


def suite(second: float) -> pd.DataFrame:
    rows = [("a/first", 0.6), ("a/second", second), ("a/part", None)]
    table = pd.DataFrame(rows, columns=["model", "average"])
    told_apart_by = {"precision": "float32", "protocol": "few_shot", "commit": "0" * 40}
    behind = {"behind": [0.0, 0.6 - second, None], "behind_stderr": [0.0, 0.014, None]}
    return table.assign(**behind, flag=[None, "copied", None], **told_apart_by)


def test_the_suite_names_its_first_and_how_sure_its_lead_is():
    values = SUITE.values({"suite_leaderboard": suite(0.5)})
    assert [values[f"suite.{name}"] for name in ("rows", "ranked", "flagged")] == [3, 2, 1]
    assert (values["suite.first"], values["suite.second"]) == ("a/first", "a/second")
    assert "a/second with 50.0% is behind it clearly" in story(SUITE, values)
    close = SUITE.values({"suite_leaderboard": suite(0.59)})
    assert "within the errors of the two" in story(SUITE, close)


def test_two_rows_of_one_model_are_told_apart():
    table = suite(0.59).assign(model="a/model", precision=["float32", "bfloat16", "float32"])
    values = SUITE.values({"suite_leaderboard": table})
    assert values["suite.first"] == "a/model (float32)"
    assert values["suite.second"] == "a/model (bfloat16)"
