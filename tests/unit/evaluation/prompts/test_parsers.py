"""What models really write, and what each parser makes of it."""

from typing import get_args

import pytest

from workflow_scripts.evaluation.prompts.parsers import PARSERS, RIGHT
from workflow_scripts.settings.prompts.spec import LETTER_PARSERS, Parser, Rightness

CHOICES = ("4", "24", "red cap", "cap")
PROMPT = (
    'Reply in JSON: {"Answer": "<the right choice>"}\nChoices: [\'4\', \'24\']\n{"Answer": "4"}'
)

# By parser, outputs with what is read of them, and outputs of which nothing is.
READ = {
    "json": [
        ('{"Answer": "24"}', "24"), (' \n{"answer" : "24" }\n', "24"),
        ('{"ANSWER": "red cap", "why": "it is"}', "red cap"), ('{"Answer": 24}', "24"),
        ('{"Answer": 4.50}', "4.50"), ('{"Answer": -1e400}', "-1e400"),
        ('{"Answer": "it\'s"}', "it's"), ('{"Answer": "\\u00e9t\\u00e9"}', "été"),
        ('{"Answer": "ångström"}', "ångström"),
    ],
    "json_text": [
        ('{"Answer": "24"}', "24"), (' {"ANSWER": "Red Cap", "why": "it is"}\n', "red cap"),
        ('{"Answer": "4", "Answer": "24"}', "24"), ('{"Answer": "a \\"cap\\""}', "a 'cap'"),
    ],
    "not_json": [
        ("24", "24"), (' "24" \n', "'24'"), ('{"Answer": "24"', "{'Answer': '24'"),
        ('{"Answers": 24}', "{'Answers': 24}"), ('["24"]', "['24']"),
        ('{"Answer": NaN}', "{'Answer': NaN}"),
    ],
    "json_anywhere": [
        ('Sure! {"Answer": "24"} I hope this helps.', "24"),
        ('```json\n{"Answer": "24"}\n```', "24"), ("{'Answer': '24'}", "24"),
        ("{'Answer': 'it's a cap'}", "it's a cap"), ("{Answer: 24}", "24"),
        ('{"Answer": "{1, 2}"}', "{1, 2}"), ('{ {"Answer": 24} }', "24"),
        ('{"Answer": "24"} and again {"answer": "24"}', "24"),
    ],
    "answer_line": [
        ("Answer: 24", "24"), ("answer:red cap \n", "red cap"),
    ],
    "answer_line_anywhere": [
        ("I think so.\nAnswer: 24\nBecause it is.", "24"), ("Answer: 24\nanswer: 24", "24"),
    ],
    "whole": [
        ("  anything at all ", "anything at all"),
    ],
    "one_choice": [
        ("It is 24.", "24"), ("It is 4, I think.", "4"), ("A RED  CAP it is.", "red cap"),
        ("A cap it is.", "cap"),
    ],
    "letter": [
        ("B", "B"), (" (B).\n", "B"), ("B:", "B"),
    ],
    "leading_letter": [
        (" B.", "B"), ("B) 24", "B"), ("(C) red cap", "C"), ("D\n\nBecause", "D"),
    ],
    "best_answer_line": [
        ("The best answer is B.", "B"), ("The best answer is B", "B"),
    ],
    "best_answer_at_start": [
        ("The best answer is B.", "B"), (" \nThe best answer is C. I am sure.", "C"),
        ("\\n\\nThe best answer is D", "D"), ("The best answer is Bread.", "B"),
    ],
    "best_answer_anywhere": [
        ("Well. The best answer is B. I am sure.", "B"), ("The best answer is (C).", "C"),
    ],
}  # fmt: skip
REFUSED = {
    "json": [
        "{'Answer': '24'}", 'Sure! {"Answer": "24"}', '{"Answer": "24"} I hope this helps',
        '{"Answer": "24"}{"Answer": "4"}', '{"Answer": "24", "Answer": "4"}',
        '{"Answer": "24"', '{"Answer": ["24", "4"]}', '{"Answer": true}', '{"Answer": null}',
        '{"Answer": NaN}', '{"Answer": ""}', '{"Answers": "24"}', '"24"', "24", "",
        "[" * 100_000, PROMPT,
    ],
    "json_text": [
        '{"Answer": 24}', '{"Answer": 4.50}', '{"Answer": null}', '{"Answer": ["24"]}',
        '{"Answer": ""}', '{"Answer": "24"} I hope this helps', '"24"', "24", "", "[" * 100_000,
    ],
    "not_json": [
        '{"Answer": "24"}', '{"Answer": 24}', '{"Answer": null}', '{"answer": {"a": "24"}}', " \n",
    ],
    "json_anywhere": [
        '{"Answer": "24"} or rather {"Answer": "4"}', '{"Answer": "24', '{"why": "no"}',
        PROMPT, "I cannot answer this.", "", "{" * 5_000,
    ],
    "answer_line": [
        "Answer: 24\nBecause it is.", "The answer: 24", "Answer:", "Answer:\n24", "",
    ],
    "answer_line_anywhere": [
        "Answer: 24\nAnswer: 4", "I do not know.",
    ],
    "whole": [
        " \n\t",
    ],
    "one_choice": [
        "It is 124.", "It is 4.5.", "It is -4.", "It is 1,024.", "The captain.",
        "Either 4 or 24.", "A red cap, not a cap.", PROMPT,
        "I'm sorry, I can't help with that.", "",
    ],
    "letter": [
        "b", "E", "B because", "AB", "",
    ],
    "leading_letter": [
        "A cap is red", "Both", "E.", "The best answer is B.",
    ],
    "best_answer_line": [
        "The best answer is B. I am sure.", "the best answer is b.",
    ],
    "best_answer_at_start": [
        "Well. The best answer is B.", "the best answer is B.", "The best answer is: B",
        "The best answer is (B)", "The best answer is\nB", "The best answer is ", "B",
    ],
    "best_answer_anywhere": [
        "The best answer is A. No: The best answer is B.", "The best answer is Bread.",
        "The best answer is E.", "Ⓑ", "",
    ],
}  # fmt: skip
OUTPUTS = [
    *((parser, *one) for parser, some in READ.items() for one in some),
    *((parser, output, None) for parser, some in REFUSED.items() for output in some),
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
