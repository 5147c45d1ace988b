"""Numbers with names, and sentences that stay true whatever the numbers are."""

import ast
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.paper.cost_sentences import cost_numbers, tell_cost
from workflow_scripts.paper.published_sentences import published_numbers, tell_published
from workflow_scripts.render.numbers import (
    NAME,
    Number,
    Numbers,
    count,
    filled,
    number,
    percent,
    read_numbers,
    write_numbers,
)
from workflow_scripts.render.words import limits
from workflow_scripts.studies.chunking.sentences import chunking_numbers, tell_chunking
from workflow_scripts.studies.harmony.sentences import harmony_numbers, tell_harmony
from workflow_scripts.studies.prompts.sentences import prompt_numbers, tell_prompts
from workflow_scripts.studies.suite.sentences import suite_numbers, tell_suite

ROOT = Path(__file__).parents[3]
STORIES = sorted(
    path
    for room in ("paper", "studies")
    for path in (ROOT / "workflow_scripts" / room).rglob("*.py")
)


def told(tell, numbers: list[Number], **others) -> str:
    """What a reader sees."""
    extra = [Number(name.replace("__", "."), v, str(v), "") for name, v in others.items()]
    named = Numbers([*limits(), *numbers, *extra])
    return " ".join(filled(p, lambda name: named[name].text) for p in tell(named))


def agreement(difference: float, low: float, high: float, items=(None, None)) -> pd.DataFrame:
    def row(protocol, statistic, value, low=None, high=None):
        return {
            **{"protocol": protocol, "statistic": statistic, "value": value},
            **{"models_low": low, "models_high": high},
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
    ("difference", "low", "high", "expected", "absent"),
    [
        (0.3, 0.1, 0.5, "raises it by 0.30 (0.10 to 0.50)", "falls"),
        (-0.3, -0.5, -0.1, "changes it by −0.30 (−0.50 to −0.10): it falls", "raises"),
        (0.3, -0.1, 0.7, "which holds zero", "raises"),
        (-0.1, -0.3, 0.2, "which holds zero", "falls"),
    ],
)
def test_agreement_rises_or_falls_only_where_its_interval_says_so(
    difference, low, high, expected, absent
):
    tables = {"harmony_agreement": agreement(difference, low, high)}
    text = told(tell_harmony, harmony_numbers(tables))
    assert expected in text
    assert absent not in text
    assert "very models" not in text
    tables = {"harmony_agreement": agreement(difference, low, high, items=(-0.02, 0.51))}
    text = told(tell_harmony, harmony_numbers(tables))
    assert expected in text
    assert "Of these very models it would be −0.02 to 0.51 had other test items been drawn." in text


def pruning(best: float, whole: float) -> pd.DataFrame:
    rows = [("1, 2", best), ("5", 4 * whole), ("", whole)]
    return pd.DataFrame(
        {"left_out": name, "perplexity": value, "perplexity_stderr": 1.0} for name, value in rows
    )


@pytest.mark.parametrize(
    ("best", "expected"),
    [(90.0, "less than the"), (110.0, "more than the"), (101.0, "within its errors of the")],
)
def test_leaving_layers_out_costs_what_it_costs(best, expected):
    tables = {"chunking_pruning": pruning(best, 100.0)}
    assert expected in told(tell_chunking, chunking_numbers(tables))


def test_one_layer_left_out_is_one_layer():
    several, one = pruning(90.0, 100.0), pruning(900.0, 100.0)
    texts = [
        told(tell_chunking, chunking_numbers({"chunking_pruning": table}))
        for table in (several, one)
    ]
    assert "leaving out the layers 1, 2 costs" in texts[0]
    assert "leaving out the layer 5 costs" in texts[1]


def mmlu(acc_z: float, em: float = 0.2) -> pd.DataFrame:
    row = {"subject": "micro", "model": "a/b", "variant": "", "n": 100, "floor": 0.3}
    scores = {"em": em, "qem": 0.2, "acc": 0.3 + acc_z / 100}
    return pd.DataFrame([{**row, **scores, "em_z": -9.0, "qem_z": -9.0, "acc_z": acc_z}])


def test_a_score_below_its_floor_shows_nothing_and_one_above_is_named():
    below = told(tell_chunking, chunking_numbers({"mmlu_by_subject": mmlu(1.9)}))
    assert "None clears it" in below
    above = told(tell_chunking, chunking_numbers({"mmlu_by_subject": mmlu(2.1)}))
    assert "None clears it" not in above
    assert "1 by the likeliest letter (best: a/b, 0.321)" in above


def test_the_published_reading_is_blamed_only_where_it_adds_something():
    gains = told(tell_chunking, chunking_numbers({"mmlu_by_subject": mmlu(0, em=0.1)}))
    assert "adds up to 10.0 percentage points (a/b)" in gains
    nothing = told(tell_chunking, chunking_numbers({"mmlu_by_subject": mmlu(0, em=0.2)}))
    assert "adds up" not in nothing


def latency(*faster: float, way: str = "fused", devices: int = 1) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **{"model": "a/b", "plan": f"k2m{at}", "variant": f"@k2m{at}-residual-noadapters"},
            **{"aggregation": "residual", "adapters": None, "batch": 2, "devices": devices},
            **{"way": way, "token_faster": value, "token_seconds": 1 / value},
        }
        for at, value in enumerate(faster, start=1)
    )


def test_a_plan_that_is_slower_is_not_called_faster():
    text = told(tell_chunking, chunking_numbers({"chunking_latency": latency(0.8, 0.9)}))
    assert "0.90 times as fast" in text
    assert "2 of them are slower" in text
    assert "none of which is slower" in told(
        tell_chunking, chunking_numbers({"chunking_latency": latency(1.8, 1.1)})
    )


def test_plans_run_one_chunk_after_the_other_are_told_of_apart():
    table = pd.concat([latency(1.8, 1.1), latency(0.7, 1.2, way="loop")])
    text = told(tell_chunking, chunking_numbers({"chunking_latency": table}))
    assert "none of which is slower. That is with the chunks' layers run as one" in text
    assert "one after the other (loop, dashed) 1 of 2 are slower" in text


def test_checkpoints_and_several_devices_are_told_of_where_they_were_timed():
    alone = latency(1.8, 1.1)
    text = told(tell_chunking, chunking_numbers({"chunking_latency": alone}))
    assert "devices" not in text and "adapters" not in text
    trained = alone.assign(variant="@k2m1", aggregation="mlp.residual", adapters="adapters")
    both = pd.concat([alone, trained, latency(2.7, 0.55, devices=2)])
    text = told(tell_chunking, chunking_numbers({"chunking_latency": both}))
    assert "The plan k2m1 in batches of 2 writes tokens 1.80 times" in text
    assert "@k2m1 is the fastest checkpoint, 1.80 times in batches of 2." in text
    assert "Spread over 2 devices, @k2m1-residual-noadapters in batches of 2 writes 1.50" in text
    assert "the most of 2 combinations, 1 of them slower than on one." in text
    two = pd.concat([alone, latency(2.5).assign(model="a/c")])
    text = told(tell_chunking, chunking_numbers({"chunking_latency": two}))
    assert "The plan k2m1 of a/c in batches of 2 writes tokens 2.50 times" in text


def runs(*rows) -> pd.DataFrame:
    names = ["run", "micro", "floor", "p", "difference", "after", "changed", "format_met"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(model="a/b", variant=None, n=100, micro_stderr=0.01)


def test_prompt_runs_tell_of_the_greatest_significant_step_alone():
    first, last = ("run1", 0.3, 0.26, None, None, None, "", 0.1), (0.26, "", 0.2)
    tables = {
        "prompt_runs": runs(first, ("run2", 0.2, last[0], 1e-5, -0.1, "run1", "shots", last[2]))
    }
    text = told(tell_prompts, prompt_numbers(tables))
    assert "The greatest is −10.0 percentage points, of run2 (shots) against run1" in text
    tables = {
        "prompt_runs": runs(first, ("run2", 0.29, last[0], 0.4, -0.01, "run1", "shots", last[2]))
    }
    text = told(tell_prompts, prompt_numbers(tables))
    assert "none of 1 changed significantly" in text
    assert "greatest" not in text


def test_the_asked_format_is_told_from_the_least_run_to_the_most():
    table = runs(
        ("run1", 0.01, 0.26, None, None, None, "", 0.3),
        ("run2", 0.02, 0.26, None, None, None, "", 0.0),
        ("run3", 0.3, 0.26, None, None, None, "", 0.9),
        ("run4", 0.4, 0.26, None, None, None, "", float("nan")),  # by log-likelihood
    )
    text = told(tell_prompts, prompt_numbers({"prompt_runs": table}))
    assert "between 0% (run2) and 90% (run3) are in the asked format" in text
    text = told(tell_prompts, prompt_numbers({"prompt_runs": table[table["run"] == "run2"]}))
    assert "Of each run's outputs 0% are in the asked format" in text


def reproduction(agree: int, differ: int, refused: int) -> pd.DataFrame:
    rows = [("agrees", 0.5, None)] * agree + [("differs", 3.0, None)] * differ
    rows += [("not comparable", None, "it was not measured here")] * refused
    table = pd.DataFrame(rows, columns=["verdict", "z", "because"])
    return table.assign(source="mmlu_baseline", of="a/b")


def test_reproduction_counts_agreeing_differing_and_luck():
    text = told(tell_published, published_numbers({"reproduction": reproduction(95, 5, 20)}))
    assert "100 of them can be compared with ours: 95 agree and 5 differ" in text
    assert "luck alone would make at most 5.0 differ" in text
    assert "it was not measured here (20)" in text
    text = told(tell_published, published_numbers({"reproduction": reproduction(0, 0, 20)}))
    assert "None of them can be compared" in text


def test_without_any_table_nothing_is_told():
    for tell, numbers in (
        (tell_harmony, harmony_numbers({})),
        (tell_chunking, chunking_numbers({})),
        (tell_prompts, prompt_numbers({})),
        (tell_published, published_numbers({})),
    ):
        assert numbers == []
        assert told(tell, numbers) == ""


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_no_number_is_typed_in_a_story(path):
    """In what tell_ functions say: names stand for numbers, and words for nothing that was measured."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tellers = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.lstrip("_").startswith(("tell", "what_is"))
    ]
    for teller in tellers:
        body = teller.body[1:] if ast.get_docstring(teller) else teller.body
        for node in (inner for statement in body for inner in ast.walk(statement)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                sentence = re.sub(r"\{[^}]*\}|bfloat16", "", node.value)
                assert not re.search(r"\d", sentence), f"{path.name}: {node.value!r}"


def test_numbers_go_to_json_and_to_latex_and_come_back(tmp_path):
    numbers = Numbers(
        [
            *number("run.share", 0.25, percent, "a share & more"),
            *number("run.of", "a/b_c@k2m12", str, "a name"),
            *number("run.items", 14_042, count, "items"),
        ]
    )
    json_path, tex = tmp_path / "numbers.json", tmp_path / "numbers.tex"
    write_numbers(numbers, json_path, tex)
    assert {n.name: n for n in read_numbers(json_path).values()} == dict(numbers.items())
    assert json.loads(json_path.read_text())["run.items"]["text"] == "14,042"
    text = tex.read_text()
    assert r"\defval{run.share}{25\%}" in text
    assert r"\defval{run.of}{a/b\_c@k2m12}" in text


def test_a_number_that_is_none_or_nothing_finite_is_not_there():
    assert number("a.b", None, count, "") == []
    assert number("a.b", float("nan"), count, "") == []
    assert number("a.b", float("inf"), count, "") == []
    with pytest.raises(UserError, match=r"no number 'a\.b'"):
        Numbers([])["a.b"]
    with pytest.raises(ValueError, match="twice"):
        Numbers(number("a.b", 1, count, "") * 2)


def test_nearly_all_and_nearly_none_do_not_round_to_all_and_none():
    assert [percent(x) for x in (0, 0.001, 0.25, 0.999, 1)] == [
        "0%",
        "0.1%",
        "25%",
        "99.9%",
        "100%",
    ]


def test_names_are_of_one_kind():
    assert NAME.fullmatch("harmony.direct.agreement_low")
    assert not NAME.fullmatch("Harmony Direct")


def suite(second: float) -> pd.DataFrame:
    rows = [("a/first", 0.6), ("a/second", second), ("a/part", None)]
    table = pd.DataFrame(rows, columns=["model", "average"])
    told_apart_by = {"precision": "float32", "protocol": "few_shot", "commit": "0" * 40}
    return table.assign(average_stderr=0.01, flag=[None, "copied", None], **told_apart_by)


def test_the_suite_names_its_first_and_how_sure_its_lead_is():
    text = told(tell_suite, suite_numbers({"suite_leaderboard": suite(0.5)}))
    assert "Rows on the suite: 3, with every task: 2." in text
    assert (
        "a/first has the highest average, 60.0%; a/second with 50.0% is behind it clearly" in text
    )
    assert "are 1." in text
    close = told(tell_suite, suite_numbers({"suite_leaderboard": suite(0.59)}))
    assert "within the errors of the two" in close


def test_two_rows_of_one_model_are_told_apart():
    table = suite(0.59).assign(model="a/model", precision=["float32", "bfloat16", "float32"])
    text = told(tell_suite, suite_numbers({"suite_leaderboard": table}))
    assert "a/model (float32) has the highest average" in text
    assert "a/model (bfloat16) with 59.0%" in text


def test_costs_are_added_up():
    table = pd.DataFrame(
        {
            **{"study": ["harmony", "mmlu"], "rule": ["train", "evaluate"], "measured": [10, 2]},
            **{"hours": [3.0, 1.0], "planned_hours": [2.0, 1.0], "mem_mb": [900, 1200]},
        }
    )
    text = told(tell_cost, cost_numbers({"cost": table}))
    assert "12 jobs took 4.00 hours" in text
    assert "most of them is train (harmony), with 3.00 hours" in text
    assert "1,200 MB" in text
    assert "3.00 hours" in text
