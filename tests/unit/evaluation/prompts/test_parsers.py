"""What models really write, and what each parser makes of it."""

from typing import get_args

import pytest

from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, Parser, Rightness

CHOICES = ("4", "24", "red cap", "cap")
PROMPT = (
    'Reply in JSON: {"Answer": "<the right choice>"}\nChoices: [\'4\', \'24\']\n{"Answer": "4"}'
)

# parser, output, what it reads
OUTPUTS = [
    ("json", '{"Answer": "24"}', "24"),
    ("json", ' \n{"answer" : "24" }\n', "24"),
    ("json", '{"ANSWER": "red cap", "why": "it is"}', "red cap"),
    ("json", '{"Answer": 24}', "24"),
    ("json", '{"Answer": 4.50}', "4.50"),
    ("json", '{"Answer": -1e400}', "-1e400"),
    ("json", '{"Answer": "it\'s"}', "it's"),
    ("json", '{"Answer": "\\u00e9t\\u00e9"}', "été"),
    ("json", '{"Answer": "ångström"}', "ångström"),
    ("json", "{'Answer': '24'}", None),
    ("json", 'Sure! {"Answer": "24"}', None),
    ("json", '{"Answer": "24"} I hope this helps', None),
    ("json", '{"Answer": "24"}{"Answer": "4"}', None),
    ("json", '{"Answer": "24", "Answer": "4"}', None),
    ("json", '{"Answer": "24"', None),
    ("json", '{"Answer": ["24", "4"]}', None),
    ("json", '{"Answer": true}', None),
    ("json", '{"Answer": null}', None),
    ("json", '{"Answer": NaN}', None),
    ("json", '{"Answer": ""}', None),
    ("json", '{"Answers": "24"}', None),
    ("json", '"24"', None),
    ("json", "24", None),
    ("json", "", None),
    ("json", "[" * 100_000, None),
    ("json", PROMPT, None),
    ("json_anywhere", 'Sure! {"Answer": "24"} I hope this helps.', "24"),
    ("json_anywhere", '```json\n{"Answer": "24"}\n```', "24"),
    ("json_anywhere", "{'Answer': '24'}", "24"),
    ("json_anywhere", "{'Answer': 'it's a cap'}", "it's a cap"),
    ("json_anywhere", "{Answer: 24}", "24"),
    ("json_anywhere", '{"Answer": "{1, 2}"}', "{1, 2}"),
    ("json_anywhere", '{ {"Answer": 24} }', "24"),
    ("json_anywhere", '{"Answer": "24"} and again {"answer": "24"}', "24"),
    ("json_anywhere", '{"Answer": "24"} or rather {"Answer": "4"}', None),
    ("json_anywhere", '{"Answer": "24', None),
    ("json_anywhere", '{"why": "no"}', None),
    ("json_anywhere", PROMPT, None),
    ("json_anywhere", "I cannot answer this.", None),
    ("json_anywhere", "", None),
    ("json_anywhere", "{" * 5_000, None),
    ("answer_line", "Answer: 24", "24"),
    ("answer_line", "answer:red cap \n", "red cap"),
    ("answer_line", "Answer: 24\nBecause it is.", None),
    ("answer_line", "The answer: 24", None),
    ("answer_line", "Answer:", None),
    ("answer_line", "Answer:\n24", None),
    ("answer_line", "", None),
    ("answer_line_anywhere", "I think so.\nAnswer: 24\nBecause it is.", "24"),
    ("answer_line_anywhere", "Answer: 24\nAnswer: 4", None),
    ("answer_line_anywhere", "Answer: 24\nanswer: 24", "24"),
    ("answer_line_anywhere", "I do not know.", None),
    ("whole", "  anything at all ", "anything at all"),
    ("whole", " \n\t", None),
    ("one_choice", "It is 24.", "24"),
    ("one_choice", "It is 4, I think.", "4"),
    ("one_choice", "It is 124.", None),
    ("one_choice", "It is 4.5.", None),
    ("one_choice", "It is -4.", None),
    ("one_choice", "It is 1,024.", None),
    ("one_choice", "A RED  CAP it is.", "red cap"),
    ("one_choice", "A cap it is.", "cap"),
    ("one_choice", "The captain.", None),
    ("one_choice", "Either 4 or 24.", None),
    ("one_choice", "A red cap, not a cap.", None),
    ("one_choice", PROMPT, None),
    ("one_choice", "I'm sorry, I can't help with that.", None),
    ("one_choice", "", None),
    ("letter", "B", "B"),
    ("letter", " (B).\n", "B"),
    ("letter", "B:", "B"),
    ("letter", "b", None),
    ("letter", "E", None),
    ("letter", "B because", None),
    ("letter", "AB", None),
    ("letter", "", None),
    ("leading_letter", " B.", "B"),
    ("leading_letter", "B) 24", "B"),
    ("leading_letter", "(C) red cap", "C"),
    ("leading_letter", "D\n\nBecause", "D"),
    ("leading_letter", "A cap is red", None),
    ("leading_letter", "Both", None),
    ("leading_letter", "E.", None),
    ("leading_letter", "The best answer is B.", None),
    ("best_answer_line", "The best answer is B.", "B"),
    ("best_answer_line", "The best answer is B", "B"),
    ("best_answer_line", "The best answer is B. I am sure.", None),
    ("best_answer_line", "the best answer is b.", None),
    ("best_answer_anywhere", "Well. The best answer is B. I am sure.", "B"),
    ("best_answer_anywhere", "The best answer is (C).", "C"),
    ("best_answer_anywhere", "The best answer is A. No: The best answer is B.", None),
    ("best_answer_anywhere", "The best answer is Bread.", None),
    ("best_answer_anywhere", "The best answer is E.", None),
    ("best_answer_anywhere", "Ⓑ", None),
    ("best_answer_anywhere", "", None),
]

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


@pytest.mark.parametrize(("parser", "output", "read"), OUTPUTS)
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
