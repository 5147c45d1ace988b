"""Define the parsers of a model's output, and the rules that score the parsed answer, by their names in prompt runs.

A parser maps the output and the choices of the question to the answer, or to None. Parsers do not get the correct
choice. A rule maps the answer, the choices and the index of the correct choice to whether the answer is correct.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence

from workflow_scripts.evaluation.prompts.questions import LETTERS

Parse = Callable[[str, Sequence[str]], str | None]
ScoringRule = Callable[[str, Sequence[str], int], bool]


def read_whole(output: str, choices: Sequence[str]) -> str | None:
    """Return the whole output."""
    return output.strip() or None


def read_json_text(output: str, choices: Sequence[str]) -> str | None:
    """Read the string under "answer" in the lower-cased JSON, as published; numbers do not count."""
    answer = _read_json(output).get("answer")
    return _replace_quotes(answer) if isinstance(answer, str) else None


def read_not_json(output: str, choices: Sequence[str]) -> str | None:
    """Return the whole output if it is not JSON with an "answer", as published."""
    return None if "answer" in _read_json(output) else _replace_quotes(output)


def read_answer_line(output: str, choices: Sequence[str]) -> str | None:
    """Read the text after "Answer:" if this line is the whole output."""
    match = re.fullmatch(r"answer:[ \t]*(\S.*)", output.strip(), re.IGNORECASE)
    return match and match[1].strip()


def _replace_quotes(text: str) -> str | None:
    return text.replace('"', "'").strip() or None


def _read_json(output: str) -> dict[str, object]:
    """Read the lower-cased output as a JSON object; return an empty one if it is none."""
    try:
        content = json.loads(output.lower())
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _make_letter_parser(pattern: str, removed: str = "") -> Parse:
    """Make a parser that reads the letter of a choice if the output, without `removed`, begins with `pattern`."""

    def read_letter(output: str, choices: Sequence[str]) -> str | None:
        match = re.match(pattern, output.strip().replace(removed, ""))
        return match[1] if match and match[1] in LETTERS[: len(choices)] else None

    return read_letter


PARSERS: dict[str, Parse] = {
    "whole": read_whole,
    "json_text": read_json_text,
    "not_json": read_not_json,
    "answer_line": read_answer_line,
    # A full stop or brackets are allowed: "A." or "B)", but not "A cat".
    "letter": _make_letter_parser(r"\(?([A-J])\)?[.:]?$"),
    "leading_letter": _make_letter_parser(r"\(?([A-J])\)?(?=\s*$|[.:,;)\]]|\s*\n)"),
    "best_answer_line": _make_letter_parser(r"The best answer is ([A-J])\.?$"),
    # As published: line breaks written as backslash and n, as in the prompts of run 7, are removed.
    "best_answer_at_start": _make_letter_parser(r"The best answer is ([A-J])", removed="\\n"),
}


def normalize(text: str) -> str:
    """Normalize Unicode, case and white space for comparison."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def is_equal(answer: str, choices: Sequence[str], gold: int) -> bool:
    return normalize(answer) == normalize(choices[gold])


def contains_choice(answer: str, choices: Sequence[str], gold: int) -> bool:
    """Return whether the correct choice occurs in the answer, as published: "4" occurs in "24"."""
    choice = normalize(choices[gold])
    return bool(choice) and choice in normalize(answer)


def is_letter(answer: str, choices: Sequence[str], gold: int) -> bool:
    return answer == LETTERS[gold]


SCORING_RULES: dict[str, ScoringRule] = {
    "equal": is_equal,
    "occurs": contains_choice,
    "letter": is_letter,
}
