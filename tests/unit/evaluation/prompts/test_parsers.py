"""Test parsing and scoring of outputs that models really write."""

from pathlib import Path

import pytest
import yaml

from workflow_scripts.evaluation.prompts.parsers import PARSERS, SCORING_RULES
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS

CHOICES = ("4", "24", "red cap", "cap", "Straße", "A\u030angstro\u0308m", "")
CASES = yaml.safe_load(Path(__file__).with_name("outputs.yaml").read_text())


@pytest.mark.parametrize("parser", PARSERS)
def test_parser(parser):
    cases = CASES[parser]["read"] + [[output, None] for output in CASES[parser]["refused"]]
    answers = {output: PARSERS[parser](output, CHOICES[:4]) for output, _ in cases}
    assert answers == dict(cases)
    if parser in (*LETTER_PARSERS, "json_text"):
        assert PARSERS[parser]("[" * 100_000, CHOICES[:4]) is None


@pytest.mark.parametrize(
    ("rule", "answer", "right"),
    [
        ("equal", "24", ["24"]),
        ("equal", " RED cap ", ["red cap"]),
        ("equal", "4.", []),
        ("equal", "STRASSE", ["Straße"]),
        ("equal", "ångström", [CHOICES[5]]),
        ("occurs", "24", ["4", "24"]),  # as published
        ("occurs", "a red cap", ["red cap", "cap"]),
        ("occurs", "nothing", []),
        ("letter", "B", ["24"]),
    ],
)
def test_rule(rule, answer, right):
    is_correct = SCORING_RULES[rule]
    assert [c for gold, c in enumerate(CHOICES) if is_correct(answer, CHOICES, gold)] == right
