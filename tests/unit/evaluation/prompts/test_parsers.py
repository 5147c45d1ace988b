"""What models really write, and what each parser makes of it."""

from pathlib import Path
from typing import get_args

import pytest
import yaml

from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, Parser, Rightness

CHOICES = ("4", "24", "red cap", "cap")
# By parser, outputs with what is read of them, and outputs of which nothing is.
OUTPUTS = [
    (parser, output, read)
    for parser, cases in yaml.safe_load(
        Path(__file__).with_name("outputs.yaml").read_text()
    ).items()
    for output, read in [*cases["read"], *((output, None) for output in cases["refused"])]
]
DEEP = [("json", "[" * 100_000), ("json_text", "[" * 100_000), ("json_anywhere", "{" * 5_000)]

# rule, answer, which of the choices are counted as right
JUDGED = [
    ("equal", "24", ["24"]),
    ("equal", " RED cap ", ["red cap"]),
    ("equal", "4.", []),
    ("occurs", "24", ["4", "24"]),  # as published
    ("occurs", "a red cap", ["red cap", "cap"]),
    ("occurs", "nothing", []),
    ("occurs_as_word", "24", ["24"]),
    ("occurs_as_word", "the captain", []),
    ("letter", "B", ["24"]),
]


@pytest.mark.parametrize(
    ("parser", "output", "read"), [*OUTPUTS, *((*deep, None) for deep in DEEP)]
)
def test_an_output_is_read_or_refused(parser, output, read):
    assert PARSERS[parser](output, CHOICES) == read


@pytest.mark.parametrize(("rule", "answer", "right"), JUDGED)
def test_an_answer_is_judged(rule, answer, right):
    judge = RIGHT[rule]
    assert [c for at, c in enumerate(CHOICES) if judge(answer, CHOICES, at)] == right


def test_letters_with_accents_are_the_same_however_they_are_composed():
    choices = ("Ångström", "Straße")
    assert RIGHT["equal"]("a\u030angstro\u0308m", choices, 0)
    assert RIGHT["equal"]("STRASSE", choices, 1)
    assert PARSERS["one_choice"]("It is A\u030angstro\u0308m!", choices) == "Ångström"


def test_an_empty_choice_is_named_by_nothing():
    assert not RIGHT["occurs"]("anything", ("", "b"), 0)
    assert not RIGHT["occurs_as_word"]("anything", ("", "b"), 0)
    assert PARSERS["one_choice"]("it is b", ("", "b")) == "b"


def test_the_names_in_a_run_s_file_are_the_parsers_and_rules_there_are():
    assert set(get_args(Parser)) == set(PARSERS)
    assert set(get_args(Rightness)) == set(RIGHT)
    reads_letter = {name for name, parse in PARSERS.items() if _reads_letters(parse)}
    assert set(LETTER_PARSERS) == reads_letter


def _reads_letters(parse) -> bool:
    """A text that is no letter is what the others read."""
    outputs = ("B", "The best answer is B.")
    return any(parse(o, ("x", "y")) == "B" for o in outputs) and not any(
        parse(o, ("x", "y")) for o in ("something else",)
    )
