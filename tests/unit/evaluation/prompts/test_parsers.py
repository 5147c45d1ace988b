"""What models really write, and what each parser makes of it."""

from pathlib import Path
from typing import get_args

import pytest
import yaml

from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.settings.prompts.spec import Parser, Rightness

CHOICES = ("4", "24", "red cap", "cap", "Straße", "A\u030angstro\u0308m", "")
# By parser, outputs with what is read of them, and outputs of which nothing is.
OUTPUTS = [
    (parser, output, read)
    for parser, cases in yaml.safe_load(
        Path(__file__).with_name("outputs.yaml").read_text()
    ).items()
    for output, read in [*cases["read"], *((output, None) for output in cases["refused"])]
]


@pytest.mark.parametrize(
    ("parser", "output", "read"), [*OUTPUTS, ("json_text", "[" * 100_000, None)]
)
def test_output_is_read_or_refused(parser, output, read):
    assert PARSERS[parser](output, CHOICES[:4]) == read


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
def test_answer_is_judged(rule, answer, right):
    judge = RIGHT[rule]
    assert [c for at, c in enumerate(CHOICES) if judge(answer, CHOICES, at)] == right


def test_names_in_a_file_are_the_parsers_and_rules():
    assert set(get_args(Parser)) == set(PARSERS)
    assert set(get_args(Rightness)) == set(RIGHT)
