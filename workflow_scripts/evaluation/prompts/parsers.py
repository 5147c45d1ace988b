"""Named ways to read an answer from a model's output.

Each takes the output and the choices of the question and gives the answer, or None where it finds
none, or more than one. None of them knows which choice is right.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from workflow_scripts.evaluation.prompts.questions import LETTERS

Parse = Callable[[str, Sequence[str]], str | None]

_KEY = "answer"
_ANSWER_LINE = re.compile(r"answer:[ \t]*(\S.*)", re.IGNORECASE)
_LETTER = re.compile(r"\(?([A-J])\)?[.:]?")
_LEADING_LETTER = re.compile(r"\(?([A-J])\)?(?=\s*$|[.:,;)\]]|\s*\n)")
_BEST_ANSWER = re.compile(r"The best answer is:? \(?([A-J])(?!\w)")
_BEST_ANSWER_LINE = re.compile(r"The best answer is ([A-J])\.?")
_BEST_ANSWER_AT_START = re.compile(r"The best answer is ([A-J])")
# What looks like the JSON but has the wrong quotes, or an apostrophe between single ones.
_LOOSE_JSON = re.compile(
    r"""\{\s*(['"]?)answer\1\s*:\s*(['"])(?P<text>.*?)\2\s*\}|\{\s*(['"]?)answer\4\s*:\s*(?P<bare>[^{}'"\n]+?)\s*\}""",
    re.IGNORECASE | re.DOTALL,
)


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


# Numbers stay as they are written: 4.50 is not 4.5.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, object_pairs_hook=_each_key_once)


def normal(text: str) -> str:
    """For comparing: composed, without regard to case, each stretch of white space one blank."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def whole(output: str, choices: Sequence[str]) -> str | None:
    """All of it."""
    return output.strip() or None


def json_object(output: str, choices: Sequence[str]) -> str | None:
    """The output is one JSON object with a key "answer", whose value is a text or a number."""
    try:
        return _answer_in(_DECODER.decode(output.strip()))
    except (ValueError, RecursionError):
        return None


def json_text(output: str, choices: Sequence[str]) -> str | None:
    """As published: the text under "answer" in an output that is JSON, in small letters; a number is none."""
    answer = _published_answer(output)
    return answer.replace('"', "'").strip() or None if isinstance(answer, str) else None


def not_json(output: str, choices: Sequence[str]) -> str | None:
    """As published: all of an output that is no JSON with such a key, and nothing of one that is."""
    return whole(output.replace('"', "'"), choices) if _published_answer(output) is _NONE else None


def json_anywhere(output: str, choices: Sequence[str]) -> str | None:
    """Such an object somewhere in the output, also with single quotes; the only one, or all agree."""
    found, at = [], 0
    while (at := output.find("{", at)) != -1:
        end = at + 1
        try:
            value, end = _DECODER.raw_decode(output, at)
            found.append(_answer_in(value))
        except (ValueError, RecursionError):
            if match := _LOOSE_JSON.match(output, at):
                found.append((match["text"] or match["bare"] or "").strip() or None)
                end = match.end()
        at = end
    return _only(answer for answer in found if answer is not None)


def answer_line(output: str, choices: Sequence[str]) -> str | None:
    """The output is the one line "Answer: ..."."""
    match = _ANSWER_LINE.fullmatch(output.strip())
    return match and match[1].strip()


def answer_line_anywhere(output: str, choices: Sequence[str]) -> str | None:
    """A line "Answer: ..." in the output; the only one, or all agree."""
    matches = (_ANSWER_LINE.fullmatch(line.strip()) for line in output.splitlines())
    return _only(match[1].strip() for match in matches if match)


def one_choice(output: str, choices: Sequence[str]) -> str | None:
    """The one choice that the output names; not inside a word, a number or a longer choice."""
    rest, named = normal(output), []
    for choice in sorted(filter(normal, choices), key=len, reverse=True):
        pattern = _as_word(choice)
        if pattern.search(rest):
            named.append(choice)
            rest = pattern.sub("\0", rest)
    return _only(named)


def letter(output: str, choices: Sequence[str]) -> str | None:
    """The output is a letter, with a full stop or in brackets perhaps."""
    return _of(_LETTER.fullmatch(output.strip()), choices)


def leading_letter(output: str, choices: Sequence[str]) -> str | None:
    """The output begins with a letter that stands alone: "A." or "B)", but not "A cat"."""
    return _of(_LEADING_LETTER.match(output.strip()), choices)


def best_answer_line(output: str, choices: Sequence[str]) -> str | None:
    """The output is "The best answer is" and a letter."""
    return _of(_BEST_ANSWER_LINE.fullmatch(output.strip()), choices)


def best_answer_at_start(output: str, choices: Sequence[str]) -> str | None:
    """As published: the letter after "The best answer is ", with which the output begins.

    A line break that is written as a backslash and an n, as in the prompts of run 7, is passed over.
    """
    return _of(_BEST_ANSWER_AT_START.match(output.strip().replace("\\n", "")), choices)


def best_answer_anywhere(output: str, choices: Sequence[str]) -> str | None:
    """The letter after "The best answer is", wherever that is; the only one, or all agree."""
    return _only(found for match in _BEST_ANSWER.finditer(output) if (found := _of(match, choices)))


PARSERS: dict[str, Parse] = {
    "whole": whole,
    "json": json_object,
    "json_text": json_text,
    "not_json": not_json,
    "json_anywhere": json_anywhere,
    "answer_line": answer_line,
    "answer_line_anywhere": answer_line_anywhere,
    "one_choice": one_choice,
    "letter": letter,
    "leading_letter": leading_letter,
    "best_answer_line": best_answer_line,
    "best_answer_at_start": best_answer_at_start,
    "best_answer_anywhere": best_answer_anywhere,
}


def equal(answer: str, choices: Sequence[str], gold: int) -> bool:
    return normal(answer) == normal(choices[gold])


def occurs(answer: str, choices: Sequence[str], gold: int) -> bool:
    """As published: "4" occurs in "24"."""
    return bool(normal(choices[gold])) and normal(choices[gold]) in normal(answer)


def occurs_as_word(answer: str, choices: Sequence[str], gold: int) -> bool:
    return bool(normal(choices[gold])) and bool(_as_word(choices[gold]).search(normal(answer)))


def is_letter(answer: str, choices: Sequence[str], gold: int) -> bool:
    return answer == LETTERS[gold]


RIGHT: dict[str, Callable[[str, Sequence[str], int], bool]] = {
    "equal": equal,
    "occurs": occurs,
    "occurs_as_word": occurs_as_word,
    "letter": is_letter,
}


_NONE = object()  # where there is no answer; null is one, of a kind that is never right


def _published_answer(output: str) -> object:
    try:
        return json.loads(output.lower())[_KEY]
    except (ValueError, LookupError, TypeError, RecursionError):
        return _NONE


def _answer_in(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    found = [v for k, v in value.items() if k.casefold() == _KEY]
    if len(found) != 1 or not isinstance(found[0], str):
        return None
    return found[0].strip() or None


def _only(answers: Iterable[str]) -> str | None:
    """The answer, if all of them are the same."""
    by_normal = {normal(answer): answer for answer in answers}
    return next(iter(by_normal.values())) if len(by_normal) == 1 else None


def _of(match: re.Match | None, choices: Sequence[str]) -> str | None:
    """The letter, if there is a choice of that letter."""
    return match[1] if match and match[1] in LETTERS[: len(choices)] else None


def _as_word(choice: str) -> re.Pattern:
    """Not inside a longer word, nor a part of a number such as 4.5, 1,000 or -4."""
    text = normal(choice)
    sign = r"(?<![-−])" if text[0].isdigit() else ""
    return re.compile(rf"(?<!\w)(?<!\d[.,]){sign}{re.escape(text)}(?!\w)(?![.,]\d)")
