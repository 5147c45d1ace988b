"""A chapter's prose: a template that is edited without Python, over the numbers of numbers.json.

A paragraph ends at an empty line. A sentence begins at the margin, and goes on in the indented lines below
it. `{name}` prints a number. What prints a number that this run has not is left out: a part in [[double
brackets]], otherwise the sentence; and with the first sentence of a paragraph the whole paragraph.

Between `{%` and `%}` stands Jinja2: `{% if mmlu.em_clear > 0 %}` decides by a number's value, and no condition
holds on one that is not there. `joined` and `compared`, below, choose words.
"""

import math
import re
from functools import cache
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, TemplateError, Undefined, pass_context
from jinja2.runtime import Context

from workflow_scripts.core.errors import UserError, did_you_mean
from workflow_scripts.render.numbers import PLACE, Declared, Numbers
from workflow_scripts.render.words import CLEAR, joined

_TITLE = re.compile(r"\A# (.+)\n")
_PART = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_TAG = re.compile(r"\{[%{].*?[%}]\}", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_DOTTED = re.compile(r"\b(?!loop\.)[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")
# In a template's text: the end of a paragraph, and a word that stands for a number which is not there.
_END, _MISSING = "\f", "\0"


def title_of(template: Path) -> str:
    """Its first line, which is a heading."""
    found = _TITLE.match(template.read_text(encoding="utf-8"))
    if not found:
        raise UserError(f"{template}: expected a first line like “# What was found?”.")
    return found[1]


def names_in(source: str) -> set[str]:
    """The numbers that a template prints or decides by."""
    tags = " ".join(_QUOTED.sub("", tag) for tag in _TAG.findall(source))
    return {*PLACE.findall(_TAG.sub(_MISSING, source)), *_DOTTED.findall(tags)}


def told(template: Path, numbers: Numbers, declared: Declared) -> list[str]:
    """The paragraphs that can be told of these numbers, each number by its name in braces."""
    source = _TITLE.sub("", template.read_text(encoding="utf-8"))
    for name in sorted(names_in(source)):
        if name not in declared:
            raise UserError(
                f"{template}: no number is called {name!r}.{did_you_mean(name, declared)}"
            )
    roots = {name.partition(".")[0] for name in declared}
    given = {root: _Looked(numbers, root) for root in roots}
    try:
        text = _template(source).render(given, numbers=numbers)
    except (TemplateError, TypeError) as error:
        raise UserError(f"{template}: {error}") from error
    return [said for said in (_paragraph(one, numbers) for one in text.split(_END)) if said]


@cache
def _template(source: str) -> Template:
    environment = Environment(undefined=StrictUndefined, finalize=_word)
    environment.filters["joined"] = _joined
    environment.globals |= {
        "compared": compared,
        "errors_apart": errors_apart,
        "numbered": _numbered,
    }
    # A form feed is white space to Jinja2, so that an empty line may stand inside of a tag too.
    return environment.from_string(re.sub(r"\n[ \t]*\n", f"\n{_END}\n", source))


def _paragraph(text: str, numbers: Numbers) -> str:
    found = [_kept(one, numbers) for one in re.split(r"\n(?=\S)", text) if one.strip()]
    return " ".join(one for one in found if one) if found and found[0] else ""


def _kept(text: str, numbers: Numbers) -> str:
    """What can be told of it: nothing, where a number is missing outside of its bracketed parts."""
    text = _PART.sub(lambda part: part[1] if _is_whole(part[1], numbers) else "", text)
    text = " ".join(text.split()) if _is_whole(text, numbers) else ""
    return re.sub(r" (?=[,;.](?:\s|$))", "", text)


def _is_whole(text: str, numbers: Numbers) -> bool:
    return _MISSING not in text and all(name in numbers for name in PLACE.findall(text))


@pass_context
def _joined(context: Context, text: str, between: str = "") -> str:
    """`a | b | c` as `a, b and c`, without those whose numbers are missing."""
    kept = (_kept(one, context["numbers"]) for one in text.split("|"))
    parts = [part for part in kept if part]
    return (between.join(parts) if between else joined(parts)) or _MISSING


@pass_context
def _numbered(context: Context, start: str) -> list[str]:
    """1, 2 and so on, as far as there are numbers whose names go on so."""
    return list(takewhile(lambda at: f"{start}{at}" in context["numbers"], map(str, count(1))))


def compared(z: Any, below: str, within: str, above: str) -> str:
    """The words for a difference of so many standard errors."""
    if isinstance(z, Undefined):
        return _MISSING
    return below if z <= -CLEAR else above if z >= CLEAR else within


def errors_apart(value: Any, error: Any, other: Any, other_error: Any) -> Any:
    """In standard errors of the difference, how far the value lies above the other."""
    given = (value, error, other, other_error)
    missing = [one for one in given if isinstance(one, Undefined)]
    return missing[0] if missing else (value - other) / (math.hypot(error, other_error) or math.inf)


def _word(printed: Any) -> str:
    if not isinstance(printed, str | Undefined):
        raise TypeError(
            f"{{{{ }}}} is for words, and a number, here {printed!r}, stands as {{name}}"
        )
    return str(printed)


def _holds_not(self: Any, other: Any) -> bool:
    return False


class _Looked(Undefined):
    """The first words of a number's name, or the name of one that is not there: no condition holds on it."""

    __lt__ = __le__ = __gt__ = __ge__ = _holds_not
    __slots__ = ("_name", "_numbers")

    def __init__(self, numbers: Numbers, name: str):
        super().__init__(name=name)
        self._numbers, self._name = numbers, name

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        name = f"{self._name}.{key}"
        return self._numbers.value(name) if name in self._numbers else _Looked(self._numbers, name)

    def __neg__(self) -> "_Looked":
        return self

    def __str__(self) -> str:
        return _MISSING
