"""From stored outputs to a record: what is right, what a strict reading counts, what a floor is."""

import pytest

from tests.records import DIGEST, record_fields
from workflow_scripts.core.items import Item, read_items
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.evaluation.prompts.requests import ReadingRequest
from workflow_scripts.evaluation.prompts.score_prompt_run import floor, item_of, score_prompt_run
from workflow_scripts.settings.prompts.spec import Reading

RUN5 = Reading.model_validate(
    {
        "format": "json_text",
        "answers": [
            {"parser": "json_text", "right": "equal"},
            {"parser": "whole", "right": "occurs"},
        ],
    }
)
LETTER = Reading.model_validate(
    {"format": "letter", "answers": [{"parser": "leading_letter", "right": "letter"}]}
)
LIKELIHOOD = Reading.model_validate({"answers": [{"parser": "letter", "right": "letter"}]})


def output(text=None, gold=0, choices=("4", "24", "8", "16"), subject="s", lls=None, at=0) -> Item:
    known = {"item": f"{subject}/{at}", "subset": subject, "prompt_sha256": DIGEST}
    known |= {"choices": list(choices), "gold": "ABCD"[gold], "prediction": None}
    return Item(**known, text=text, loglikelihoods=lls, scores={"truncated": 0.0})


@pytest.mark.parametrize(
    ("text", "right", "strict", "met", "parser", "prediction"),
    [
        ('{"Answer": "4"}', True, True, True, "json_text", "4"),
        ('{"Answer": "24"}', False, False, True, "json_text", "24"),
        ("The answer is 4.", True, False, False, "whole", "The answer is 4."),
        ("It is 24.", True, False, False, "whole", "It is 24."),  # "4" is a part of it
        ("I cannot say.", False, False, False, "whole", "I cannot say."),
        ("", False, False, False, None, None),
    ],
)
def test_an_answer_is_right_by_the_run_s_rule_and_strictly_or_not(
    text, right, strict, met, parser, prediction
):
    item = item_of(output(text), RUN5)
    assert (item.correct, item.format_met, item.parser) == (right, met, parser)
    assert item.scores == {"acc": float(right), "acc_strict": float(strict)}
    assert (item.prediction, item.text, item.gold) == (prediction, text, "4")


def test_the_likeliest_letter_is_the_answer():
    item = item_of(output(lls=[-3.0, -0.5, -2.0, -9.0], gold=1), LIKELIHOOD)
    assert (item.prediction, item.gold, item.correct) == ("B", "B", True)
    assert item.format_met is None
    assert item.loglikelihoods == [-3.0, -0.5, -2.0, -9.0]


def test_a_floor_is_what_naming_a_choice_blindly_scores_under_the_run_s_rule():
    outputs = [output(gold=0), output(gold=0), output(gold=2)]
    by_letter = floor(outputs, LETTER)
    assert by_letter.constants == pytest.approx({"A": 2 / 3, "B": 0, "C": 1 / 3, "D": 0})
    assert by_letter.chance == 0.25
    # "4" occurs in "24": the second choice is never right, and counts twice.
    by_text = floor(outputs, RUN5)
    assert by_text.constants == pytest.approx({"A": 2 / 3, "B": 2 / 3, "C": 1 / 3, "D": 0})
    assert by_text.chance == pytest.approx((2 + 2 + 1) / 12)


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "outputs/run5.json"
    texts = ['{"Answer": "4"}', "24", "no", '{"Answer": "4"}', "", '{"Answer": "8"}']
    outputs = [output(text, subject="ab"[at > 1], at=at) for at, text in enumerate(texts)]
    fields = record_fields(study="prompts", task="run5")
    truncated = Metric(
        name="truncated_prompts", value=0, stderr=None, n=6, best_constant=None, chance=None
    )
    write_record(path, outputs, **fields | {"request": {"run": "run5"}, "metrics": (truncated,)})
    return path


def test_the_record_counts_micro_macro_format_and_strict(stored, tmp_path):
    record = score_prompt_run(stored, tmp_path / "run5.json", ReadingRequest(read=RUN5))
    metrics = {(metric.name, metric.subset): metric for metric in record.metrics}
    values = {name: metrics[name, None].value for name, subset in metrics if subset is None}
    expected = {"acc": 3 / 6, "acc_macro": 5 / 8, "acc_strict": 2 / 6, "format_met": 3 / 6}
    assert values == pytest.approx(values | expected | {"read": 5 / 6})
    law = metrics["acc", "b"]
    assert (law.value, law.n) == (0.25, 4)
    assert law.stderr == pytest.approx(0.25)  # sd / sqrt(n) of one right in four
    assert (record.request["run"], record.request["read"]["format"]) == ("run5", "json_text")
    parsers = read_items(tmp_path / "run5.parquet").column("parser").to_pylist()
    assert parsers == ["json_text", "whole", "whole", "json_text", None, "json_text"]
