"""Read an answer from a model's output by a named parser, and judge it by a named rule.

A parser takes the output and the choices of the question and gives the answer, or None. None of them
knows which choice is right.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence

from workflow_scripts.evaluation.prompts.questions import LETTERS

Parse = Callable[[str, Sequence[str]], str | None]
Rule = Callable[[str, Sequence[str], int], bool]
_NO_ANSWER = object()  # where the JSON has none; null is an answer, which is never right


def normal(text: str) -> str:
    """Compose, fold case and white space, for comparing."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def read_whole(output: str, choices: Sequence[str]) -> str | None:
    """Read all of it."""
    return output.strip() or None


def read_json_text(output: str, choices: Sequence[str]) -> str | None:
    """Read the text under "answer" of JSON in small letters, as published: a number is none."""
    answer = _json_answer(output)
    return answer.replace('"', "'").strip() or None if isinstance(answer, str) else None


def read_not_json(output: str, choices: Sequence[str]) -> str | None:
    """Read all of an output that is no JSON with such a key, as published, and nothing of one that is."""
    return output.replace('"', "'").strip() or None if _json_answer(output) is _NO_ANSWER else None


def read_answer_line(output: str, choices: Sequence[str]) -> str | None:
    """Read an output that is the one line "Answer: ..."."""
    match = re.fullmatch(r"answer:[ \t]*(\S.*)", output.strip(), re.IGNORECASE)
    return match and match[1].strip()


def _letter_parser(pattern: str) -> Parse:
    """Read the letter of a choice where the output begins with this pattern."""
    compiled = re.compile(pattern)

    def read_letter(output: str, choices: Sequence[str]) -> str | None:
        match = compiled.match(output.strip())
        return match[1] if match and match[1] in LETTERS[: len(choices)] else None

    return read_letter


_best_answer = _letter_parser(r"The best answer is ([A-J])")


def read_best_answer(output: str, choices: Sequence[str]) -> str | None:
    """Read the letter of "The best answer is A" at the beginning, as published.

    A line break that is written as a backslash and an n, as in the prompts of run 7, is passed over.
    """
    return _best_answer(output.strip().replace("\\n", ""), choices)


PARSERS: dict[str, Parse] = {
    "whole": read_whole,
    "json_text": read_json_text,
    "not_json": read_not_json,
    "answer_line": read_answer_line,
    # With a full stop or in brackets perhaps: "A." or "B)", but not "A cat".
    "letter": _letter_parser(r"\(?([A-J])\)?[.:]?$"),
    "leading_letter": _letter_parser(r"\(?([A-J])\)?(?=\s*$|[.:,;)\]]|\s*\n)"),
    "best_answer_line": _letter_parser(r"The best answer is ([A-J])\.?$"),
    "best_answer_at_start": read_best_answer,
}


def is_equal(answer: str, choices: Sequence[str], gold: int) -> bool:
    return normal(answer) == normal(choices[gold])


def occurs(answer: str, choices: Sequence[str], gold: int) -> bool:
    """Judge as published: "4" occurs in "24"."""
    return bool(normal(choices[gold])) and normal(choices[gold]) in normal(answer)


def is_letter(answer: str, choices: Sequence[str], gold: int) -> bool:
    return answer == LETTERS[gold]


RIGHT: dict[str, Rule] = {"equal": is_equal, "occurs": occurs, "letter": is_letter}


def _json_answer(output: str) -> object:
    try:
        return json.loads(output.lower())["answer"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return _NO_ANSWER
