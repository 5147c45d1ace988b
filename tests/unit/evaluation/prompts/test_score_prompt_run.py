"""Test scoring of stored outputs: correct answers, strict parsing and baselines."""

import pytest

from tests.records import DIGEST, record_fields
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import read_complete_record, write_record
from workflow_scripts.evaluation.prompts.score_prompt_run import (
    compute_baseline,
    score_output,
    score_prompt_run,
)
from workflow_scripts.evaluation.record_parts import build_metric
from workflow_scripts.settings.prompts.spec import AnswerParsing


def make_reading(format, **answers) -> AnswerParsing:
    links = [{"parser": parser, "right": right} for parser, right in answers.items()]
    return AnswerParsing.model_validate({"format": format, "answers": links})


RUN5 = make_reading("json_text", json_text="equal", whole="occurs")
CHOICES = ["4", "24", "8", "16"]


def make_output(text=None, gold="A", subject="s", loglikelihoods=None, number=0) -> Item:
    return Item(
        item=f"{subject}/{number}",
        subset=subject,
        prompt_sha256=DIGEST,
        choices=CHOICES,
        gold=gold,
        prediction=None,
        text=text,
        loglikelihoods=loglikelihoods,
        scores={"truncated": 0.0},
    )


@pytest.mark.parametrize(
    ("text", "right", "strict", "met", "parser"),
    [
        ('{"Answer": "4"}', True, True, True, "json_text"),
        ('{"Answer": "24"}', False, False, True, "json_text"),
        ("It is 24.", True, False, False, "whole"),  # contains "4"
        ("I cannot say.", False, False, False, "whole"),
        ("", False, False, False, None),
    ],
)
def test_score_output(text, right, strict, met, parser):
    item = score_output(make_output(text), RUN5)
    assert (item.correct, item.format_met, item.parser, item.gold) == (right, met, parser, "4")
    assert item.scores == {"acc": float(right), "acc_strict": float(strict)}


def test_baseline_by_rule():
    outputs = [make_output(gold=gold) for gold in "AAC"]
    by_letter = compute_baseline(outputs, make_reading("letter", leading_letter="letter"))
    assert list(by_letter.constants.values()) == pytest.approx([2 / 3, 0, 1 / 3, 0])
    assert by_letter.chance == 0.25
    # "4" occurs in "24": the second choice is never the correct one, and counts twice.
    by_text = compute_baseline(outputs, RUN5)
    assert list(by_text.constants.values()) == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0])
    assert by_text.chance == pytest.approx((2 + 2 + 1) / 12)


def test_score_prompt_run(tmp_path):
    texts = ['{"Answer": "4"}', "24", "no", '{"Answer": "4"}', "", '{"Answer": "8"}']
    outputs = [make_output(text, subject="aabbbb"[n], number=n) for n, text in enumerate(texts)]
    fields = record_fields(study="prompts", task="run5") | {"request": {"run": "run5"}}
    fields["metrics"] = (build_metric("truncated_prompts", 0, 6),)
    stored = tmp_path / "outputs/run5.json"
    write_record(stored, outputs, **fields)
    score_prompt_run(stored, tmp_path / "run5.json", RUN5.model_dump(mode="json"))
    record = read_complete_record(tmp_path / "run5.json")
    metrics = {(metric.name, metric.subset): metric for metric in record.metrics}
    expected = {"acc": 3 / 6, "acc_macro": 5 / 8, "acc_strict": 2 / 6, "format_met": 3 / 6}
    for name, value in (expected | {"read": 5 / 6}).items():
        assert metrics[name, None].value == pytest.approx(value)
    subject = metrics["acc", "b"]  # one of four is correct; stderr = sd / sqrt(n)
    assert (subject.value, subject.n, subject.stderr) == (0.25, 4, pytest.approx(0.25))
    assert (record.request["run"], record.request["read"]["format"]) == ("run5", "json_text")
